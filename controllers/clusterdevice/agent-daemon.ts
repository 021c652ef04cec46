/** The agent of one cluster, in this process. */
import { join } from 'node:path'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { createTransport } from '#operator/client/transport.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { runAgent } from '#services/agent/index.ts'
import { parseAdminKubeconfig, readAdminKubeconfig } from './admin-kubeconfig.ts'
import { deviceName, inventoryOf, labelsOf } from './decide.ts'
import { readClusterAuthenticator } from './nats-credentials.ts'
import type { ClusterDeviceOptions } from './options.ts'
import { createRenewingTransport } from './renewing-transport.ts'

/** What an agent was told is kept for this ClusterDeployment alone, not for another one of its name. */
export const stateFolder = (deps: ClusterDeviceOptions, { metadata }: ClusterDeployment): string =>
  join(deps.stateDir, metadata.uid)

/** The agents that run, by the uid of their ClusterDeployment, until they have ended. */
export type RunningAgents = Map<string, Promise<void>>

/** Until the signal aborts. @throws AdminKubeconfigError, CredentialsError, RefusedError, LockedError, ApiError, NetworkError */
export const runClusterAgent =
  (deps: ClusterDeviceOptions, agents: RunningAgents) =>
  async (context: DaemonContext<ClusterDeployment>): Promise<void> => {
    const { uid } = context.object.metadata
    const agent = runAgentFor(deps, context)
    agents.set(uid, agent)
    try {
      await agent
    } finally {
      agents.delete(uid)
      context.log.info('the agent of the cluster has ended')
    }
  }

const runAgentFor = async (deps: ClusterDeviceOptions, context: DaemonContext<ClusterDeployment>): Promise<void> => {
  const { object, api, clock, log, signal } = context
  const cluster = await createRenewingTransport({
    read: () => readAdminKubeconfig(api, context.object),
    open: (kubeconfig) =>
      createTransport(parseAdminKubeconfig(kubeconfig), { userAgent: `muster-clusterdevice/${deps.version}` }),
    log,
  })
  try {
    await runAgent(
      {
        device: deviceName(object),
        labels: labelsOf(object, deps.labels),
        inventory: inventoryOf(object),
        isMachine: false,
        version: deps.version,
        nats: { url: deps.nats.url, authenticator: await readClusterAuthenticator(deps) },
        stateDir: stateFolder(deps, object),
        cluster,
        stopWorkloads: false,
        clock,
        log,
      },
      signal,
    )
  } finally {
    await cluster.close()
  }
}
