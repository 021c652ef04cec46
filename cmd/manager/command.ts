import { Command } from 'commander'
import { flag, optional, toggle, type Values } from '#operator/flags/flag.ts'
import { listenAddress, namespaceOrAll, nonEmpty, serversOf, someOf, urlOf } from '#operator/flags/values.ts'
import { apiServerFlags } from '../api-server-flags.ts'
import { addFlags, readFlags } from '../flag.ts'
import { hyperfleetApiCa, hyperfleetApiTokenFile } from '../hyperfleet-api-flags.ts'
import { logFlags } from '../log-flags.ts'
import { natsFileFlags } from '../nats-flags.ts'
import { CONTROLLERS, controllerFlags } from './controllers.ts'
import { dashboardAddress } from './dashboard-binding.ts'

/** What every manager can be told; each controller adds flags of its own. */
export const managerFlags = {
  controllers: flag(
    'NAMES',
    `which controllers to run, separated by commas: ${CONTROLLERS.join(', ')}`,
    someOf(...CONTROLLERS),
    CONTROLLERS.join(','),
  ),
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
  ...apiServerFlags,
  leaderElect: toggle('work only while holding a lease, so that further replicas stand by'),
  webhookBindAddress: flag('ADDRESS', 'where the webhooks of --deny-… are served', listenAddress, ':9443'),
  webhookHost: optional('HOST', 'how the API server reaches the webhooks (default: their Services’ names)', nonEmpty),
  hyperfleetApiUrl: flag(
    'URL',
    'the HyperFleet API, without a path: that of ClusterDeployments, of SentinelConfigs that name none, and the only one that gets the token',
    urlOf('http', 'https'),
    'https://hyperfleet-api.hyperfleet-system.svc.cluster.local',
  ),
  hyperfleetApiTokenFile,
  hyperfleetApiCa,
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
  natsUrl: flag(
    'URL',
    'NATS server that the fleet keeps its state on; servers of one cluster are separated by commas',
    serversOf('nats', 'tls'),
    'nats://127.0.0.1:4222',
  ),
  ...natsFileFlags('the fleet operator'),
  ...controllerFlags,
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
