/** Before a cluster is deleted, its Device and its reports are. Its objects are deleted with the cluster itself. AGENT-23. */

import { rm } from 'node:fs/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { deviceKey, keysOfDevice } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { findStream } from '#lib/nats/find-stream.ts'
import type { ChangeContext, Wait } from '#operator/engine/context.ts'
import { connectAgent } from '#services/agent/index.ts'
import { type RunningAgents, stateFolder } from './agent-daemon.ts'
import { deviceName } from './decide.ts'
import { readClusterAuthenticator } from './nats-credentials.ts'
import type { ClusterDeviceOptions } from './options.ts'

/** How long NATS may take to answer, in milliseconds: then it is tried again. */
const NATS_TIMEOUT_MS = 10_000
const RECHECK_INTERVAL = '1s'

/** Until the Device is gone: the operator makes it again while it has not seen that its keys are. @throws CredentialsError, RefusedError, ApiError, NetworkError */
export const removeDevice =
  (deps: ClusterDeviceOptions, agents: RunningAgents) =>
  async ({ object, api, clock, log, signal }: ChangeContext<ClusterDeployment>): Promise<Wait | undefined> => {
    const device = deviceName(object)
    // What it still has to say must not come after this.
    await agents.get(object.metadata.uid)?.catch(() => undefined)
    using limit = new AbortScope(signal).within(NATS_TIMEOUT_MS)
    const authenticator = await readClusterAuthenticator(deps)
    const connection = await connectAgent({ url: deps.nats.url, device, authenticator, clock, log }, limit.signal)
    try {
      await deleteReports(connection, device)
    } finally {
      await connection.close()
    }
    await rm(stateFolder(deps, object), { recursive: true, force: true })
    const found = await api.get(Device, device)
    if (found === undefined) return undefined
    await api.delete(Device, device, undefined, { uid: found.metadata.uid })
    return { requeueAfter: RECHECK_INTERVAL }
  }

/** Takes back what the device said. What it was to run, the operator takes back when the Device is gone. */
const deleteReports = async (connection: NatsConnection, device: string): Promise<void> => {
  const manager = await jetstreamManager(connection)
  const buckets = new Kvm(connection)
  /** Undefined when the fleet has none, not yet or not any more: then nothing is said there, and there is none to wait for. */
  const bucketOf = async (name: string): Promise<KV | undefined> =>
    (await findStream(manager, name)) && (await buckets.open(name))

  for (const name of [BUCKETS.info.name, BUCKETS.heartbeat.name]) {
    const bucket = await bucketOf(name)
    await bucket?.delete(deviceKey(device))
  }
  const states = await bucketOf(BUCKETS.state.name)
  if (states === undefined) return
  for await (const key of await states.keys(keysOfDevice(device))) await states.delete(key)
}
