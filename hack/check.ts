/** `npm run check`: types, format and lint, a line each; what fails says why. */
import { runChecks } from './testing/checks.ts'

const failed = await runChecks((line) => console.log(line))
process.exitCode = failed.length === 0 ? 0 : 1
