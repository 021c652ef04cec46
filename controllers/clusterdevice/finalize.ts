/** Before a cluster is deleted, its Device and its reports are. Its objects are deleted with the cluster itself. AGENT-23, AGENT-29. */

import { rm } from 'node:fs/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { isDeviceOf } from '#apis/fleet.nationtech.io/cluster-device.ts'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { deviceKey, keysOfDevice } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { type Info, infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { readEntries } from '#lib/nats/bucket-entries.ts'
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
/** Between two looks that find nothing: an operator that read the reports before they were deleted may be about to write the Device. */
const LATE_DEVICE_DELAY = '3s'
/** Of this process: another one that deleted the reports, or the Device, may have been killed just now. */
const HAS_SEEN_NOTHING = 'has seen nothing'

/** Until two looks found neither the Device nor its reports: the operator makes it again while it has not seen that its keys are gone. @throws CredentialsError, RefusedError, ApiError, NetworkError */
export const removeDevice =
  (deps: ClusterDeviceOptions, agents: RunningAgents) =>
  async ({ object, api, clock, log, memo, signal }: ChangeContext<ClusterDeployment>): Promise<Wait | undefined> => {
    const device = deviceName(object)
    // What it still has to say must not come after this.
    await agents.get(object.metadata.uid)?.catch(() => undefined)
    using limit = new AbortScope(signal).within(NATS_TIMEOUT_MS)
    const authenticator = await readClusterAuthenticator(deps)
    const connection = await connectAgent({ ...deps.nats, device, authenticator, clock, log }, limit.signal)
    const found = await api.get(Device, device)
    let isOwn = false
    try {
      const reports = await openReports(connection)
      const reported = reports.info && (await readInventory(connection, device))
      isOwn = isDeviceOf(reported ?? found?.spec.inventory, object.metadata)
      if (isOwn) await deleteReports(connection, reports, device)
      else if (reported !== undefined || found !== undefined)
        log.warn('the fleet has another device of this name: nothing of it is deleted', { device })
    } finally {
      await connection.close()
    }
    await rm(stateFolder(deps, object), { recursive: true, force: true })
    if (isOwn) {
      memo.delete(HAS_SEEN_NOTHING)
      if (found !== undefined && isDeviceOf(found.spec.inventory, object.metadata))
        await api.delete(Device, device, undefined, { uid: found.metadata.uid })
      return { requeueAfter: RECHECK_INTERVAL }
    }
    if (memo.has(HAS_SEEN_NOTHING)) return undefined
    memo.set(HAS_SEEN_NOTHING, true)
    return { requeueAfter: LATE_DEVICE_DELAY }
  }

/** The buckets that the fleet has. Of one that it has not, not yet or not any more, nothing is said, and there is none to wait for. */
type Reports = Readonly<Record<'state' | 'heartbeat' | 'info', KV | undefined>>

const openReports = async (connection: NatsConnection): Promise<Reports> => {
  const manager = await jetstreamManager(connection)
  const buckets = new Kvm(connection)
  const open = async ({ name }: { readonly name: string }): Promise<KV | undefined> =>
    (await findStream(manager, name)) && (await buckets.open(name))
  return { state: await open(BUCKETS.state), heartbeat: await open(BUCKETS.heartbeat), info: await open(BUCKETS.info) }
}

/** As its agent said it last; undefined when it did not, or what it said can't be read. */
const readInventory = async (connection: NatsConnection, device: string): Promise<Info['inventory'] | undefined> => {
  const [entry] = await readEntries(connection, BUCKETS.info.name, deviceKey(device))
  if (entry?.kind !== 'Value') return undefined
  try {
    return infoCodec.decode(entry.value).payload.inventory
  } catch (error) {
    if (error instanceof MalformedEntry) return undefined
    throw error
  }
}

/** Takes back what the device said; last of all whose it is. What it was to run, the operator takes back when the Device is gone. */
const deleteReports = async (
  connection: NatsConnection,
  { state, heartbeat, info }: Reports,
  device: string,
): Promise<void> => {
  if (state !== undefined)
    for (const { key, kind } of await readEntries(connection, BUCKETS.state.name, keysOfDevice(device)))
      if (kind !== 'Deleted') await state.delete(key)
  await heartbeat?.delete(deviceKey(device))
  await info?.delete(deviceKey(device))
}
