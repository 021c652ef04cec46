/**
 * Clusters as devices of the fleet: for each ClusterDeployment that asks for it, an agent in this process.
 *
 *   ClusterDeployment ─► an agent ─► fleet-info, -heartbeat, -state ─► fleet operator ─► Device
 *     label, Ready, Running    └─ applies to the cluster with its admin kubeconfig
 *        └─ deleted ─► its reports and its Device are deleted
 *
 * How to use it: docs/fleet-agent.md. Why it is so: docs/decisions/cluster-devices.md.
 */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { type Controller, controller } from '#operator/controller.ts'
import { type RunningAgents, runClusterAgent } from './agent-daemon.ts'
import { needsAgent, OPT_IN_LABEL } from './decide.ts'
import { removeDevice } from './finalize.ts'
import type { ClusterDeviceOptions } from './options.ts'

/** After the Secret was not there, or the cluster, NATS or the API server did not answer. */
const BACKOFF = { initial: '1s', factor: 2, max: '1m' } as const

export const clusterDevice = (deps: ClusterDeviceOptions): Controller<ClusterDeployment> => {
  const clusters = controller(ClusterDeployment, {
    name: 'clusterdevice',
    finalizer: 'fleet.nationtech.io/cluster-device',
  })
  const agents: RunningAgents = new Map()
  clusters.daemon('agent', runClusterAgent(deps, agents), { when: needsAgent, backoff: BACKOFF })
  // The id is in stored progress and in metrics, so it stays.
  clusters.on.delete('withdraw', removeDevice(deps, agents), { labels: { [OPT_IN_LABEL]: 'true' }, backoff: BACKOFF })
  return clusters
}
