/** `npm run check`: types, format and lint, a line each; what fails says why. */
import { Command } from 'commander'
import { runChecks } from './testing/checks.ts'

new Command('npm run check')
  .description(
    'Types, format and lint, promises and circles, dead exports and words: a line each; what fails says why.',
  )
  .allowExcessArguments(false)
  .parse()
const failed = await runChecks((line) => console.log(line))
process.exitCode = failed.length === 0 ? 0 : 1
