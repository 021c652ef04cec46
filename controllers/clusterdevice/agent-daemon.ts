/** The agent of one cluster, in this process. */
import { join } from 'node:path'
import { isDeviceOf } from '#apis/fleet.nationtech.io/cluster-device.ts'
import { FleetKeyFile } from '#apis/fleet.nationtech.io/kv/key-file.ts'
import { readPublicKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { parseAdminKubeconfig, readAdminKubeconfig } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { guardedLookup } from '#lib/egress/guarded-lookup.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import type { Api } from '#operator/client/api.ts'
import { createTransport } from '#operator/client/transport.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { runAgent } from '#services/agent/index.ts'
import { deviceName, inventoryOf, labelsOf } from './decide.ts'
import { CLUSTERDEVICE_ERRORS } from './errors.ts'
import { readClusterAuthenticator } from './nats-credentials.ts'
import type { ClusterDeviceOptions } from './options.ts'
import { createRenewingTransport } from './renewing-transport.ts'

/** What an agent was told is kept for this ClusterDeployment alone, not for another one of its name. */
export const stateFolder = (deps: ClusterDeviceOptions, { metadata }: ClusterDeployment): string =>
  join(deps.stateDir, metadata.uid)

/** The agents that run, by the uid of their ClusterDeployment, until they have ended. */
export type RunningAgents = Map<string, Promise<void>>

/** The name of a cluster's device is another device's. */
export class DeviceNameTakenError extends errorOf(CLUSTERDEVICE_ERRORS, 'DeviceNameTakenError') {}

/** Until the signal aborts. @throws DeviceNameTakenError, AdminKubeconfigError, FleetKeyError, CredentialsError, RefusedError, LockedError, ApiError, NetworkError */
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

/** An agent under the name of another device would speak for it, and would be given what it is to run. AGENT-29. */
const refuseTakenName = async (api: Api, cluster: ClusterDeployment): Promise<void> => {
  const name = deviceName(cluster)
  const found = await api.get(Device, name)
  // Without an inventory no agent has said anything of it.
  if (found?.spec.inventory === undefined || isDeviceOf(found.spec.inventory, cluster.metadata)) return
  throw new DeviceNameTakenError(`the fleet has another device ${name}, which is not this cluster`)
}

const runAgentFor = async (deps: ClusterDeviceOptions, context: DaemonContext<ClusterDeployment>): Promise<void> => {
  const { object, api, clock, log, signal } = context
  await refuseTakenName(api, object)
  const cluster = await createRenewingTransport({
    read: () => readAdminKubeconfig(api, context.object),
    open: (kubeconfig) =>
      createTransport(parseAdminKubeconfig(kubeconfig), {
        userAgent: `muster-clusterdevice/${deps.version}`,
        lookup: guardedLookup,
      }),
    log,
  })
  try {
    await runAgent(
      {
        device: deviceName(object),
        labels: labelsOf(object, deps.labels),
        inventory: inventoryOf(object),
        programs: undefined,
        version: deps.version,
        publicKeys:
          deps.publicKeys === undefined ? undefined : await FleetKeyFile.open(deps.publicKeys, readPublicKeys),
        nats: { url: deps.nats.url, ca: deps.nats.ca, authenticator: await readClusterAuthenticator(deps) },
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
