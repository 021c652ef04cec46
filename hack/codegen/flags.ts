import { deadLettersFlags, dryRunFlags, orphansFlags } from '#cmd/adapter/command.ts'
import { enrollFlags } from '#cmd/agent/enroll-command.ts'
import { agentFlags } from '#cmd/agent/flags.ts'
import { apiFlags } from '#cmd/api/command.ts'
import { kubeconfigFlags } from '#cmd/claim/command.ts'
import { crdsFlags } from '#cmd/crds/command.ts'
import { letterOf, spelled, variableOf } from '#cmd/flag.ts'
import { credentialsFlags } from '#cmd/fleet/command.ts'
import { previewFlags } from '#cmd/fleet/preview-command.ts'
import { certificatesFlags } from '#cmd/hosted/command.ts'
import { managerFlags } from '#cmd/manager/command.ts'
import { migrateHiveFlags, migrateHyperfleetFlags } from '#cmd/migrate/command.ts'
import { natsFlags } from '#cmd/nats/command.ts'
import { planFlags, renderFlags } from '#cmd/pool/command.ts'
import { securityCheckFlags } from '#cmd/security/command.ts'
import { sentinelPreviewFlags } from '#cmd/sentinel/command.ts'
import { versionFlags } from '#cmd/version/command.ts'
import { whyFlags } from '#cmd/why/command.ts'
import type { Flag, Flags } from '#operator/flags/flag.ts'
import { cell, row } from './table.ts'

const COMMANDS: Readonly<Record<string, { readonly does: string; readonly flags: Flags }>> = {
  manager: { does: 'Runs controllers against a Kubernetes API server.', flags: managerFlags },
  api: { does: 'Serves the HyperFleet API.', flags: apiFlags },
  'adapter dry-run': { does: 'Runs an adapter task with no cluster, and prints what it would do.', flags: dryRunFlags },
  'adapter dead-letters': {
    does: 'Lists messages from NATS that no task could work on, and replays them.',
    flags: deadLettersFlags,
  },
  'adapter orphans': {
    does: 'Lists what is left of tasks and resources that are gone, and deletes it.',
    flags: orphansFlags,
  },
  'pool plan': { does: 'Prints what the controller would do next with a pool, and why.', flags: planFlags },
  'pool render': { does: 'Prints the install-config that each customization gives.', flags: renderFlags },
  'hosted certificates': {
    does: 'Makes the certificates of a hosted cluster, and its kubeconfig, and renews what is about to expire.',
    flags: certificatesFlags,
  },
  'claim kubeconfig': { does: 'Prints the kubeconfig of the cluster that a claim has.', flags: kubeconfigFlags },
  agent: { does: 'Runs what the fleet’s Deployments want on this device.', flags: agentFlags },
  'agent enroll': { does: 'Makes the agent a service of this machine.', flags: enrollFlags },
  'fleet preview': {
    does: 'Prints which devices a Deployment would come to, and what each would get.',
    flags: previewFlags,
  },
  'fleet credentials': {
    does: 'Makes keys for devices, and the NATS configuration that goes with them.',
    flags: credentialsFlags,
  },
  nats: {
    does: 'Keeps the users, the certificate and the devices’ keys of the NATS server beside it.',
    flags: natsFlags,
  },
  'sentinel preview': {
    does: 'Prints what SentinelConfigs would gain and lose, their pulses a minute, overlaps and gaps.',
    flags: sentinelPreviewFlags,
  },
  'security check': {
    does: 'Prints what of the table of roles does not hold in an install, and how to put it right.',
    flags: securityCheckFlags,
  },
  why: { does: 'Prints what a resource of the HyperFleet API waits for, and why.', flags: whyFlags },
  'migrate hyperfleet': {
    does: 'Takes over the database of a Go HyperFleet service.',
    flags: migrateHyperfleetFlags,
  },
  'migrate hive': {
    does: 'Prints what Muster would take over of a cluster with Hive.',
    flags: migrateHiveFlags,
  },
  crds: { does: 'Prints the CustomResourceDefinitions as YAML.', flags: crdsFlags },
  version: { does: 'Prints what was built, from which commit.', flags: versionFlags },
}

const line = ([name, { value, help, default: text }]: readonly [string, Flag<unknown>]): string =>
  row(
    `${letterOf(name) === undefined ? '' : `\`${letterOf(name)}\`, `}\`${spelled(name)}=${value}\``,
    `\`${variableOf(name)}\``,
    text ? `\`${text}\`` : '',
    cell(help),
  )

const section = (command: string): string[] => {
  const { does, flags } = COMMANDS[command] ?? { does: '', flags: {} }
  return [
    `## muster ${command}`,
    does,
    [row('Flag', 'Variable', 'Default', ''), row('---', '---', '---', '---'), ...Object.entries(flags).map(line)].join(
      '\n',
    ),
  ]
}

const INTRODUCTION = `# Flags

Every flag can be given as an environment variable; the command line wins. The former name of a flag is taken for one release more,
with a warning that says what to write. A flag or value that can't be meant ends the command
with exit code 2 and one line that says what is wrong, where, and what is valid. Everything else that keeps a command from
running ends it with exit code 1 and a line that says how to correct it; where a command could not look at
what it tells of, the code is 3, and 1 is an answer.`

/** The reference page of all commands and their flags. */
export const flagsFile = () => ({
  path: 'docs/reference/flags.md',
  text: `<!-- Generated by "npm run codegen" from cmd/: change the flag there. -->\n${[
    INTRODUCTION,
    ...Object.keys(COMMANDS).flatMap(section),
  ].join('\n\n')}\n`,
})
