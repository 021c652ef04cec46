/**
 * `node hack/run.mjs hack/testing/mutation/cli.ts`: the mutants of `npm run test:deep` alone. Arguments: `--mutants=400` how many, or `all`,
 * `--seed=1` which, and parts of modules' paths.
 */
import { parseArgs } from 'node:util'
import { tryMutants } from './run.ts'

const { values, positionals } = parseArgs({
  options: { mutants: { type: 'string', default: '400' }, seed: { type: 'string', default: '1' } },
  allowPositionals: true,
})
const count = values.mutants === 'all' ? Number.POSITIVE_INFINITY : Number(values.mutants)
const enough = await tryMutants({ count, seed: Number(values.seed), parts: positionals }, (line) => console.log(line))
process.exitCode = enough ? 0 : 1
