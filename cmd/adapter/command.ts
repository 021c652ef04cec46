import { Command } from 'commander'
import { addFlags, flag, optional, readFlags, type Values } from '../flag.ts'
import { nonEmpty, oneOf } from '../values.ts'

export const dryRunFlags = {
  task: optional('FILE', 'the task: a task file, or the manifest of an AdapterTask', nonEmpty),
  event: optional('FILE', 'the event that the run is for: a CloudEvent as JSON', nonEmpty),
  apiResponses: optional('FILE', 'what the API answers, as JSON (default: 200 and {} to everything)', nonEmpty),
  discovery: optional('FILE', 'objects that are there, by name, as JSON (default: none)', nonEmpty),
  output: flag('FORMAT', 'text for people, json for programs', oneOf('text', 'json'), 'text'),
}

export type DryRunOptions = Values<typeof dryRunFlags>

const EXAMPLES = `
Examples:
  muster adapter dry-run --task=task.yaml --event=event.json
  muster adapter dry-run --task=task.yaml --event=event.json --api-responses=api.json --output=json

Exit codes: 0 the run was done or skipped, 1 it failed, 2 a file can't be used.
`

export const adapterCommand = (): Command =>
  new Command('adapter').description('try out adapter tasks').addCommand(
    addFlags(new Command('dry-run'), dryRunFlags)
      .description('run an adapter task with no cluster, and print what it would do')
      .addHelpText('after', EXAMPLES)
      .action(async (_options: object, command: Command) => {
        const options = readFlags(command, dryRunFlags)
        const { runDryRun } = await import('./dry-run.ts')
        await runDryRun(options)
      }),
  )
