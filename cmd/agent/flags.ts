import { flag, optional, required, toggle, type Values } from '#operator/flags/flag.ts'
import { nonEmpty, urlOf } from '#operator/flags/values.ts'
import { logFlags } from '../log-flags.ts'
import { natsCa } from '../nats-flags.ts'
import { deviceName, labels } from './values.ts'

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
  stopWorkloads: toggle('end programs with the agent (default: they go on, and the next agent takes them over)'),
  ...logFlags,
}

export type AgentFlags = Values<typeof agentFlags>
