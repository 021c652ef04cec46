/** A cluster goes: what the fleet knows of it goes first. Its objects go with the cluster, so nothing is deleted there. */
import { rm } from 'node:fs/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { deviceKey, keysOfDevice } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { findStream } from '#lib/nats/find-stream.ts'
import type { ChangeContext, Wait } from '#operator/engine/context.ts'
import { connectTo } from '#services/agent/index.ts'
import { type Agents, stateFolder } from './agent-daemon.ts'
import { deviceNameOf } from './device.ts'
import { authenticatorFor } from './nats-credentials.ts'
import type { ClusterDeviceDeps } from './options.ts'

/** How long NATS may take to answer, in milliseconds: then it is tried again. */
const PATIENCE = 10_000
const LOOK_AGAIN = '1s'

/** Until the Device is gone: the operator makes it again while it has not seen that its keys are. @throws CredentialsError, RefusedError, ApiError, NetworkError */
export const withdraw =
  (deps: ClusterDeviceDeps, agents: Agents) =>
  async ({ object, api, clock, log, signal }: ChangeContext<ClusterDeployment>): Promise<Wait | undefined> => {
    const device = deviceNameOf(object)
    // What it still has to say must not come after this.
    await agents.get(object.metadata.uid)?.catch(() => undefined)
    const limit = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)])
    const authenticator = await authenticatorFor(deps)
    const connection = await connectTo({ url: deps.nats.url, device, authenticator, clock, log }, limit)
    try {
      await forget(connection, device)
    } finally {
      await connection.close()
    }
    await rm(stateFolder(deps, object), { recursive: true, force: true })
    const found = await api.get(Device, device)
    if (found === undefined) return undefined
    await api.delete(Device, device, undefined, { uid: found.metadata.uid })
    return { requeueAfter: LOOK_AGAIN }
  }

/** Takes back what the device said. What it was to run, the operator takes back when the Device is gone. */
const forget = async (connection: NatsConnection, device: string): Promise<void> => {
  const manager = await jetstreamManager(connection)
  const buckets = new Kvm(connection)
  /** Undefined when the fleet has none, not yet or not any more: then nothing is said there, and nobody must wait for one. */
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
