import { Command } from 'commander'
import { flag, optional, toggle, type Values } from '#operator/flags/flag.ts'
import { count, nonEmpty, objectName, oneOf, urlOf } from '#operator/flags/values.ts'
import { apiServerFlags } from '../api-server-flags.ts'
import { addFlags, readFlags } from '../flag.ts'
import { hyperfleetApiCa, renamedApiTokenFile } from '../hyperfleet-api-flags.ts'
import { natsFileFlags } from '../nats-flags.ts'

export const dryRunFlags = {
  task: optional('FILE', 'the task: a task file, or the manifest of an AdapterTask', nonEmpty),
  event: optional('FILE', 'the event that the run is for: a CloudEvent as JSON', nonEmpty),
  apiResponses: optional('FILE', 'what the API answers, as JSON (default: 200 and {} to everything)', nonEmpty),
  discovery: optional('FILE', 'objects that are there, by name, as JSON (default: none)', nonEmpty),
  output: flag('FORMAT', 'text for people, json for programs', oneOf('text', 'json'), 'text'),
}

export type DryRunOptions = Values<typeof dryRunFlags>

export const deadLettersFlags = {
  natsUrl: optional('URL', 'the NATS server, such as nats://user:password@localhost:4222', urlOf('nats', 'tls')),
  ...natsFileFlags('the HyperFleet API'),
  consumer: optional('NAME', 'only those of this consumer (default: all)', objectName),
  limit: flag('COUNT', 'at most so many, the oldest first', count, '100'),
  replay: optional('ID', 'publish this one again and keep it no longer', count),
  output: flag('FORMAT', 'text for people, json for programs', oneOf('text', 'json'), 'text'),
}

export type DeadLettersOptions = Values<typeof deadLettersFlags>

export const orphansFlags = {
  namespace: flag('NAME', 'the namespace of the tasks', objectName, 'hyperfleet-system'),
  hyperfleetApiUrl: {
    ...optional(
      'URL',
      'the HyperFleet API, without a path, to find resources that it does not have (default: only tasks that are gone are found)',
      urlOf('http', 'https'),
    ),
    formerly: ['hyperfleetUrl'],
  },
  hyperfleetApiTokenFile: renamedApiTokenFile,
  hyperfleetApiCa,
  prune: toggle('delete what is listed'),
  output: flag('FORMAT', 'text for people, json for programs', oneOf('text', 'json'), 'text'),
  ...apiServerFlags,
}

export type OrphansOptions = Values<typeof orphansFlags>

const EXAMPLES = `
Examples:
  muster adapter dry-run --task=task.yaml --event=event.json
  muster adapter dry-run --task=task.yaml --event=event.json --api-responses=api.json --output=json

Exit codes: 0 the run was done or skipped, 1 it failed, 2 a file can't be used.
`

const DEAD_LETTERS_EXAMPLES = `
Examples:
  muster adapter dead-letters --nats-url=nats://localhost:4222
  muster adapter dead-letters --nats-url=nats://localhost:4222 --replay=7
`

const ORPHANS_EXAMPLES = `
Examples:
  muster adapter orphans --namespace=hyperfleet-system
  muster adapter orphans --hyperfleet-api-url=http://localhost:8000 --prune

It looks and deletes with your own rights. What --prune has deleted may take a while to go: run it again, and the inventories go too.
`

export const adapterCommand = (): Command =>
  new Command('adapter')
    .description('try out adapter tasks, read their dead letters, and find what is left of them')
    .addCommand(
      addFlags(new Command('dry-run'), dryRunFlags)
        .description('run an adapter task with no cluster, and print what it would do')
        .addHelpText('after', EXAMPLES)
        .action(async (_options: object, command: Command) => {
          const options = readFlags(command, dryRunFlags)
          const { runDryRun } = await import('./dry-run.ts')
          await runDryRun(options)
        }),
    )
    .addCommand(
      addFlags(new Command('dead-letters'), deadLettersFlags)
        .description('list messages from NATS that no task could work on, and replay them')
        .addHelpText('after', DEAD_LETTERS_EXAMPLES)
        .action(async (_options: object, command: Command) => {
          const options = readFlags(command, deadLettersFlags)
          const { runDeadLetters } = await import('./dead-letters.ts')
          await runDeadLetters(options)
        }),
    )
    .addCommand(
      addFlags(new Command('orphans'), orphansFlags)
        .description('list what is left of tasks and resources that are gone, and delete it')
        .addHelpText('after', ORPHANS_EXAMPLES)
        .action(async (_options: object, command: Command) => {
          const options = readFlags(command, orphansFlags)
          const { runOrphans } = await import('./orphans.ts')
          await runOrphans(options)
        }),
    )
