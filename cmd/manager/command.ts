import { Command } from 'commander'
import { addFlags, flag, optional, readFlags, toggle, type Values } from '../flag.ts'
import { logFlags } from '../log-flags.ts'
import {
  absolutePaths,
  httpPrefixes,
  listenAddress,
  names,
  namespaceOrAll,
  nonEmpty,
  objectName,
  serversOf,
  someOf,
  urlOf,
} from '../values.ts'
import { CONTROLLERS } from './catalogue.ts'
import { dashboardAddress } from './dashboard-binding.ts'

/** Seed: sentinel, Kubernetes Deployment: `--config`, `--namespace` and the two bind addresses. */
export const managerFlags = {
  controllers: flag(
    'NAMES',
    `which controllers to run, separated by commas: ${CONTROLLERS.join(', ')}`,
    someOf(...CONTROLLERS),
    CONTROLLERS.join(','),
  ),
  config: optional('NAME', 'the one SentinelConfig to work on (default: all of the namespace)', objectName),
  namespace: flag(
    'NAME',
    'the namespace to watch; POD_NAMESPACE when not given, all namespaces when empty',
    namespaceOrAll,
    process.env.POD_NAMESPACE ?? '',
  ),
  metricsBindAddress: flag('ADDRESS', 'where /metrics is served; 0 for nowhere', listenAddress, ':8080'),
  healthProbeBindAddress: flag(
    'ADDRESS',
    'where /healthz and /readyz are served; 0 for nowhere',
    listenAddress,
    ':8081',
  ),
  kubeconfig: optional('FILE', 'kubeconfig to use (default: KUBECONFIG, ~/.kube/config, the pod’s account)', nonEmpty),
  context: optional('NAME', 'context of the kubeconfig to use (default: its current one)', nonEmpty),
  leaderElect: toggle('work only while holding a lease, so that further replicas stand by'),
  denyOverlap: toggle('refuse SentinelConfigs whose shards overlap, by an admission webhook'),
  denyInvalidTasks: toggle('refuse AdapterTasks that can’t be run, by an admission webhook'),
  webhookBindAddress: flag('ADDRESS', 'where the webhooks of --deny-… are served', listenAddress, ':9443'),
  webhookHost: optional('HOST', 'how the API server reaches the webhooks (default: their Services’ names)', nonEmpty),
  hyperfleetApiUrl: flag(
    'URL',
    'the HyperFleet API in which ClusterDeployments are registered, without a path',
    urlOf('http', 'https'),
    'http://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080',
  ),
  hyperfleetApiTokenFile: optional(
    'FILE',
    'file with the bearer token for the HyperFleet API, read for every request',
    nonEmpty,
  ),
  adapterEnv: flag('NAMES', 'environment variables that adapter tasks may read, separated by commas', names, ''),
  adapterFiles: flag(
    'PATHS',
    'folders and files that adapter tasks may read, such as those of their tokens, separated by commas',
    absolutePaths,
    '',
  ),
  dashboardBind: optional(
    'ADDRESS',
    'where the dashboard is served; with TLS, and for those whom Kubernetes lets, on any address but this machine’s own; empty for nowhere (default: 127.0.0.1:8083, when it is free)',
    dashboardAddress,
  ),
  adapterRunsBindAddress: flag(
    'ADDRESS',
    'where /adapter/runs is served, such as 127.0.0.1:8082; with TLS and for those whom Kubernetes lets on any other address; 0 for nowhere',
    listenAddress,
    '0',
  ),
  adapterHttpTargets: flag(
    'URLS',
    'prefixes of the URLs that http resources of adapter tasks may lead to, separated by commas',
    httpPrefixes,
    '',
  ),
  natsUrl: flag(
    'URL',
    'NATS server that the fleet keeps its state on; servers of one cluster are separated by commas',
    serversOf('nats', 'tls'),
    'nats://127.0.0.1:4222',
  ),
  natsCredentials: optional(
    'FILE',
    'who the fleet operator is for NATS: a .creds file, or one with the seed of a key',
    nonEmpty,
  ),
  clusterDeviceLabels: flag(
    'KEYS',
    'which labels of ClusterDeployments their devices get: keys, or prefixes that end in a slash, separated by commas',
    names,
    'device.fleet.nationtech.io/',
  ),
  clusterDeviceStateDir: flag(
    'DIRECTORY',
    'where is noted what was applied to clusters that are devices; it must outlive the manager',
    nonEmpty,
    './muster-cluster-devices',
  ),
  ...logFlags,
}

export type ManagerOptions = Values<typeof managerFlags>

const EXAMPLES = `
Examples:
  muster manager                                     every controller, in every namespace
  muster manager --controllers=sentinel --config=cluster-sentinel-us-east --namespace=hyperfleet-system
  MUSTER_LOG_FORMAT=text muster manager --context=kind-muster
`

export const managerCommand = (): Command =>
  addFlags(new Command('manager'), managerFlags)
    .description('run controllers against a Kubernetes API server')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const options = readFlags(command, managerFlags)
      const { runManager } = await import('./run.ts')
      await runManager(options)
    })
