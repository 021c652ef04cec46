import { flag, optional, required, toggle, type Values } from '#operator/flags/flag.ts'
import { nonEmpty, oneOf, urlOf } from '#operator/flags/values.ts'
import { logFlags } from '../log-flags.ts'
import { fleetPublicKeys, natsCa } from '../nats-flags.ts'
import { deviceName, labels, PROGRAM_USERS, parseUidRange } from './values.ts'

export const agentFlags = {
  device: required('NAME', 'the name of this device; no other device has it', deviceName),
  natsUrl: required('URL', 'NATS server of the fleet', urlOf('nats', 'tls')),
  natsCredentials: optional(
    'FILE',
    'what this device proves its name with, as muster fleet credentials writes it',
    nonEmpty,
  ),
  natsCa,
  natsTokenFile: optional('FILE', 'file with a token, for servers that ask for one', nonEmpty),
  fleetPublicKeys,
  labels: flag('LABELS', 'labels by which Deployments select this device, such as site=north,tier=edge', labels, ''),
  kubeconfig: optional(
    'FILE',
    'the cluster that Kubernetes manifests are applied to; without it they fail, programs run',
    nonEmpty,
  ),
  context: optional('NAME', 'context of the kubeconfig to use (default: its current one)', nonEmpty),
  stateDir: flag(
    'DIRECTORY',
    'where the agent remembers what it was told, and the output of programs',
    nonEmpty,
    './muster-agent',
  ),
  programUser: flag(
    'USER',
    'whose account programs have: placement (one of its own for each Deployment, so they reach nothing of the agent) or self (that of the agent, so they can do what it can)',
    oneOf(...PROGRAM_USERS),
    'placement',
  ),
  programDir: optional(
    'DIRECTORY',
    'where programs with accounts of their own have their folders; all accounts must be able to pass through it (default: the state folder with -programs behind it)',
    nonEmpty,
  ),
  programUids: flag(
    'FIRST-LAST',
    'the accounts, and groups, that programs can have; nothing else of the machine has one of them',
    parseUidRange,
    '2100000000-2147483646',
  ),
  stopWorkloads: toggle('end programs with the agent (default: they go on, and the next agent takes them over)'),
  ...logFlags,
}

export type AgentFlags = Values<typeof agentFlags>
