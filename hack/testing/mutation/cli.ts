/**
 * `node hack/run.mjs hack/testing/mutation/cli.ts`: the mutants of `npm run test:deep` alone. Arguments: `--mutants=400` how many, or `all`,
 * `--seed=1` which, and parts of modules' paths.
 */
import { Command } from 'commander'
import { tryMutants } from './run.ts'

const command = new Command('node hack/run.mjs hack/testing/mutation/cli.ts')
  .description('The mutants of npm run test:deep alone.')
  .argument('[parts...]', 'of modules’ paths, such as controllers/sentinel; all when left out')
  .option('--mutants <count>', 'how many, or all', '400')
  .option('--seed <number>', 'which', '1')
  .parse()
const [positionals, values] = [command.args, command.opts<{ readonly mutants: string; readonly seed: string }>()]
const count = values.mutants === 'all' ? Number.POSITIVE_INFINITY : Number(values.mutants)
const enough = await tryMutants({ count, seed: Number(values.seed), parts: positionals }, (line) => console.log(line))
process.exitCode = enough ? 0 : 1
