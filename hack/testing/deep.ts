/**
 * `npm run test:deep`: the tests that fuzz, repeat or kill at every point, at the length that a run on every change hasn't the time for;
 * then mutants of the modules that decide. With arguments only the tests that they choose, at that length.
 */
import { join } from 'node:path'
import { WHOLE_RUN } from './arguments.ts'
import { DEEP, deepTests } from './deep-tests.ts'
import { tryMutants } from './mutation/run.ts'

/** Of all modules together: they take about half an hour on two cores. */
const MUTANTS = 400

const chosen = process.argv.length > 2
Object.assign(process.env, DEEP, chosen ? {} : { [WHOLE_RUN]: 'yes' })
if (!chosen) process.argv.push(...deepTests(join(import.meta.dirname, '..', '..')))
await import('../test.ts')
if (!chosen && !(await tryMutants({ count: MUTANTS, seed: 1, parts: [] }, (line) => console.log(line))))
  process.exitCode = 1
