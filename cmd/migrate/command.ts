import { Command } from 'commander'
import { flag, optional, required, toggle } from '#operator/flags/flag.ts'
import { namespaceOrAll, nonEmpty, oneOf, urlOf } from '#operator/flags/values.ts'
import { apiServerFlags } from '../api-server-flags.ts'
import { UsageError } from '../failure.ts'
import { addFlags, readFlags } from '../flag.ts'
import { KINDS } from './hive/kinds.ts'

/** `postgres://…`, or the folder of an embedded database. The message keeps a URL to itself: it carries a password. */
const place = (text: string): { readonly databaseUrl: string } | { readonly dataDir: string } => {
  if (/^postgres(ql)?:\/\//.test(text)) return { databaseUrl: urlOf('postgres', 'postgresql')(text) }
  if (text.includes('://')) throw new Error('must be postgres://… or the folder of an embedded database')
  return { dataDir: nonEmpty(text) }
}

export const migrateHyperfleetFlags = {
  from: required('URL', 'PostgreSQL of the Go service, which is only read', urlOf('postgres', 'postgresql')),
  to: required('URL', 'PostgreSQL of muster api, or the folder of its embedded database (its --data-dir)', place),
  config: optional('FILE', 'the kinds that are served: the configuration file of muster api', nonEmpty),
  fromInUse: toggle('go on although other programs are connected to the source, such as a monitor of its database'),
  dryRun: toggle('print what would be done, and write nothing'),
}

const HYPERFLEET_EXAMPLES = `
Examples:
  muster migrate hyperfleet --from=postgres://hyperfleet@db/hyperfleet --to=postgres://muster@db/muster --dry-run
  MUSTER_FROM=postgres://… MUSTER_TO=postgres://… muster migrate hyperfleet --config=config.yaml

Stop the Go service and muster api first (docs/migrate-hyperfleet.md). Said again, it goes on where it was cut.
Exit codes: 0 every record is in the target, or was deleted there since; 1 some are not (they are printed), or a database can't be used; 2 what was asked for can't be meant.
`

const hyperfleetCommand = (): Command =>
  addFlags(new Command('hyperfleet'), migrateHyperfleetFlags)
    .description('take over the database of a Go HyperFleet service, checked record by record')
    .addHelpText('after', HYPERFLEET_EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const options = readFlags(command, migrateHyperfleetFlags)
      const { migrateHyperfleet } = await import('./hyperfleet.ts')
      if (!(await migrateHyperfleet(options, (text) => process.stdout.write(text)))) process.exitCode = 1
    })

export const migrateHiveFlags = {
  dryRun: toggle('print what would be taken over; there is no other way to say this command'),
  namespace: flag('NAME', 'the namespace to look at; empty for all', namespaceOrAll, ''),
  kind: optional('KIND', 'the only kind to look at', oneOf(...KINDS)),
  output: flag(
    'FORMAT',
    'text for people, json for programs, manifests for kubectl: customizations and pools that can be applied now, with size 0',
    oneOf('text', 'json', 'manifests'),
    'text',
  ),
  ...apiServerFlags,
}

const HIVE_EXAMPLES = `
Examples:
  muster migrate hive --dry-run --context=hub-with-hive
  muster migrate hive --dry-run --namespace=pools --output=json
  muster migrate hive --dry-run --namespace=pools --kind=ClusterPool --output=manifests

It lists Hive's objects and changes nothing. Exit codes: 0 what there is was printed, 1 the API server does not have Hive's kinds, or they are Muster's already, 2 what was asked for can't be meant, 3 it could not look.
`

const hiveCommand = (): Command =>
  addFlags(new Command('hive'), migrateHiveFlags)
    .description('print what Muster would take over of a cluster with Hive, object by object')
    .addHelpText('after', HIVE_EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const { dryRun, ...options } = readFlags(command, migrateHiveFlags)
      if (!dryRun)
        throw new UsageError(
          '--dry-run: write it: the command only looks, and docs/migrate-hive.md says what people do',
        )
      const { lookAtHive } = await import('./hive/look.ts')
      process.stdout.write(await lookAtHive(options))
    })

export const migrateCommand = (): Command =>
  new Command('migrate')
    .description('come from another program')
    .addCommand(hyperfleetCommand())
    .addCommand(hiveCommand())
