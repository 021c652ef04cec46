/** Ten thousand devices, as NATS and Kubernetes have them: they tell of themselves, beat, and answer what they are given. */
import { jetstreamManager } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { desiredCodec, heartbeatCodec, infoCodec, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { apiVersionOf, pathOf } from '#operator/model/resource.ts'
import { inParallel, upTo } from '../in-parallel.ts'
import type { Stage } from '../stage.ts'

const IN_FLIGHT = 16
const NAMESPACE = 'default'

export const deviceName = (index: number): string => `device-${index}`

/** @param group Of the devices that one Deployment is for. */
const infoOf = (group: number) => ({ labels: { group: `g${group}` }, inventory: { arch: 'arm64' }, agentVersion: '1' })

export interface Devices extends AsyncDisposable {
  /** Every device tells its labels and beats: the operator makes its Device. */
  enter(): Promise<void>
  /** Deployments, each for one group of devices. */
  declare(): Promise<void>
  /** Every device says that it runs what it was given. */
  answer(): Promise<void>
  /** There are so many, each of the further ones with what the one of its Deployment has in the buckets. */
  multiply(count: number): Promise<void>
  /** How many keys were written to fleet-desired, ever. */
  written(): Promise<number>
  /** One device says something else, so that its status changes. */
  flip(index: number, failed: boolean): Promise<void>
  /** Whether a device is to run the Deployment of a group. */
  isGiven(index: number, group: number): Promise<boolean>
  tell(index: number, group: number): Promise<void>
}

export const openDevices = async (stage: Stage, url: string, count: number, groups: number): Promise<Devices> => {
  const connection = await connect({ servers: url })
  const kvm = new Kvm(connection)
  const bucket = (name: string): Promise<KV> => kvm.open(name, { allow_direct: true })
  const [desired, states, infos, beats] = await Promise.all(
    ['fleet-desired', 'fleet-state', 'fleet-info', 'fleet-heartbeat'].map(bucket),
  )
  if (desired === undefined || states === undefined || infos === undefined || beats === undefined)
    throw new Error('there are no buckets')
  let all = upTo(count)
  const groupOf = (index: number) => index % groups
  const beat = async () => {
    const bytes = heartbeatCodec.encode({ boot: 'bench', at: new Date().toISOString() }, 0)
    await inParallel(all, 256, (index) => beats.put(deviceName(index), bytes))
  }
  const beating = setInterval(() => void beat().catch(() => {}), 30_000)
  const say = async (index: number, phase: 'Running' | 'Failed'): Promise<void> => {
    const key = `${deviceName(index)}.${NAMESPACE}.deployment-${groupOf(index)}`
    const entry = await desired.get(key)
    if (entry?.operation !== 'PUT') throw new Error(`${key} was given nothing`)
    const { payload, generation } = desiredCodec.decode(entry.value)
    const at = new Date().toISOString()
    await states.put(
      key,
      stateCodec.encode({ phase, uid: payload.owner.uid, revision: payload.revision, at }, generation),
    )
  }
  const copiesOf = async (bucket: KV, keyOf: (index: number) => string, further: readonly number[]): Promise<void> => {
    const values = await inParallel(upTo(groups), 128, async (index) => (await bucket.get(keyOf(index)))?.value)
    await inParallel(further, 256, async (index) => {
      const value = values[groupOf(index)]
      if (value === undefined) throw new Error(`${keyOf(groupOf(index))} is not there`)
      await bucket.put(keyOf(index), value)
    })
  }
  return {
    enter: async () => {
      await inParallel(all, 256, (index) => infos.put(deviceName(index), infoCodec.encode(infoOf(groupOf(index)), 0)))
      await beat()
    },
    declare: async () => {
      await inParallel(upTo(groups), IN_FLIGHT, async (group) => {
        await stage.server.request('POST', pathOf(Deployment, { namespace: NAMESPACE }), {
          apiVersion: apiVersionOf(Deployment),
          kind: Deployment.kind,
          metadata: { name: `deployment-${group}` },
          spec: {
            targetSelector: { matchLabels: { group: `g${group}` } },
            score: { type: 'Process', data: { command: ['/usr/bin/agent', `--group=${group}`] } },
          },
        })
      })
    },
    answer: async () => {
      await inParallel(all, 128, (index) => say(index, 'Running'))
    },
    multiply: async (most) => {
      await makeRoom(connection, most)
      const further = upTo(most).slice(count)
      const placement = (index: number) => `${deviceName(index)}.${NAMESPACE}.deployment-${groupOf(index)}`
      await copiesOf(infos, deviceName, further)
      await copiesOf(desired, placement, further)
      await copiesOf(states, placement, further)
      all = upTo(most)
      await beat()
    },
    written: async () => (await desired.status()).streamInfo.state.last_seq,
    flip: (index, failed) => say(index, failed ? 'Failed' : 'Running'),
    isGiven: async (index, group) =>
      (await desired.get(`${deviceName(index)}.${NAMESPACE}.deployment-${group}`))?.operation === 'PUT',
    tell: async (index, group) => {
      await infos.put(deviceName(index), infoCodec.encode(infoOf(group), 0))
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(beating)
      await connection.close()
    },
  }
}

/** Of a heartbeat with its key. */
const HEARTBEAT_BYTES = 256

/** The room of the bucket of heartbeats is for 65,000 devices: docs/sizing.md. */
const makeRoom = async (connection: NatsConnection, devices: number): Promise<void> => {
  const { streams } = await jetstreamManager(connection)
  const { config } = await streams.info('KV_fleet-heartbeat')
  const max_bytes = Math.max(config.max_bytes, devices * HEARTBEAT_BYTES * 2)
  await streams.update('KV_fleet-heartbeat', { max_bytes })
}
