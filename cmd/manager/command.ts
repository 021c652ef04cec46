import { Command } from 'commander'
import { addFlags, flag, optional, readFlags, toggle, type Values } from '../flag.ts'
import { logFlags } from '../log-flags.ts'
import { absolutePaths, listenAddress, names, namespaceOrAll, nonEmpty, objectName, someOf } from '../values.ts'
import { CONTROLLERS } from './catalogue.ts'

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
  webhookBindAddress: flag('ADDRESS', 'where the webhook of --deny-overlap is served', listenAddress, ':9443'),
  webhookHost: optional('HOST', 'how the API server reaches the webhook (default: its Service’s name)', nonEmpty),
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
