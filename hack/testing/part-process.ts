/** Runs one part of a run of tests: what to run comes as the first message, and what came of it goes back as one. */
import { once } from 'node:events'
import { readDurations } from './durations.ts'
import { type PartSelection, runPart } from './part.ts'
import type { PartEnd } from './run.ts'
import { runReporter } from './run-reporter.ts'

// Without the process that asked, what came of it is of no use.
process.once('disconnect', () => process.exit(1))
const [selection] = (await once(process, 'message')) as [PartSelection]
const timing = runReporter(readDurations())
const name = selection.projects.join(', ')
const outcome = await runPart(selection, timing, (line) => console.log(`${name}: ${line}`))
process.send?.({ outcome, files: timing.costs() } satisfies PartEnd, () => process.exit())
