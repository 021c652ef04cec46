/** A NATS server with the fleet's buckets, agents as real processes, and an operator's hand. */
import { jetstreamManager } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { vi } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { desiredCodec, type State, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { serveDeviceConsumers } from '#controllers/fleet/nats/device-consumers.ts'
import { ensureBucket } from '#controllers/fleet/nats/provision.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { agentId } from '#services/agent/folder-lock.ts'
import { findMarkedLeaders } from '#services/agent/process/process-table.ts'
import { killGroup } from '#services/agent/process/stop.ts'
import { type MusterProcess, startMuster } from '#test/harness/index.ts'
import { CHECKOUT } from '#test/harness/muster.ts'
import { skewedBy } from '#test/harness/skew.ts'

export interface Buckets {
  readonly desired: KV
  readonly state: KV
  readonly info: KV
  readonly heartbeat: KV
}

/** Has the operator's code make the buckets. */
const makeBuckets = async (connection: NatsConnection): Promise<Buckets> => {
  const manager = await jetstreamManager(connection)
  for (const settings of Object.values(BUCKETS)) await ensureBucket({ connection, manager }, settings, silent)
  const buckets = new Kvm(connection)
  return {
    desired: await buckets.open(BUCKETS.desired.name),
    state: await buckets.open(BUCKETS.state.name),
    info: await buckets.open(BUCKETS.info.name),
    heartbeat: await buckets.open(BUCKETS.heartbeat.name),
  }
}

export interface World extends AsyncDisposable {
  readonly url: string
  readonly connection: NatsConnection
  readonly buckets: Buckets
  /** All that devices said, in the order of the server. */
  readonly said: readonly { readonly key: string; readonly state: State }[]
}

/** @param url of a NATS server without buckets, which lets every client in */
export const world = async (url: string): Promise<World> =>
  worldOn(await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 200 }), url)

/** With the operator's code that makes consumers of devices. @param connection of a user that may do everything */
export const worldOn = async (connection: NatsConnection, url: string): Promise<World> => {
  const buckets = await makeBuckets(connection)
  const ending = new AbortController()
  const manager = await jetstreamManager(connection)
  const serving = serveDeviceConsumers({ connection, manager }, systemClock, ending.signal)
  const said: World['said'][number][] = []
  const watch = await buckets.state.watch()
  void (async () => {
    for await (const { key, operation, value } of watch)
      if (operation === 'PUT' && value[0] === '{'.charCodeAt(0))
        said.push({ key, state: stateCodec.decode(value).payload })
  })()
  const close = async () => {
    ending.abort()
    await serving
    await connection.close()
  }
  return { url, connection, buckets, said, [Symbol.asyncDispose]: close }
}

const CREATED = '2026-01-01T00:00:00Z'

/** The bytes of an entry of fleet-desired. */
export const entry = (score: Score, revision = 1, uid = 'uid-1', created = CREATED): Uint8Array =>
  desiredCodec.encode({ owner: { uid, created }, revision, score }, revision)

/** A program of the shell. */
export const program = (script: string, more: Partial<Score['data']> = {}): Score => ({
  type: 'Process',
  data: { command: ['sh', '-c', script], ...more },
})

export const manifests = (...objects: readonly object[]): Score => ({
  type: 'KubernetesManifests',
  data: { manifests: objects as unknown as { [key: string]: unknown }[] },
})

const WAITING = { timeout: 50_000, interval: 50 }

/** Waits until it does not throw. */
export const eventually = <T>(look: () => Promise<T> | T): Promise<T> => vi.waitFor(look, WAITING)

/** What the device said last; undefined when nothing, or when it took that back. */
export const stateOf = async ({ buckets }: World, key: string): Promise<State | undefined> => {
  const found = await buckets.state.get(key)
  return found?.operation === 'PUT' ? stateCodec.decode(found.value).payload : undefined
}

const fits = (state: State | undefined, wanted: Partial<State>): boolean =>
  Object.entries(wanted).every(([field, value]) => state?.[field as keyof State] === value)

/** Waits until the device has said it, be it that it has said something else since. */
export const untilSaid = (here: World, key: string, wanted: Partial<State>): Promise<State> =>
  eventually(() => {
    const all = here.said.filter((one) => one.key === key).map(({ state }) => state)
    const found = all.find((state) => fits(state, wanted))
    if (found === undefined) throw new Error(`${key} said ${JSON.stringify(all)}`)
    return found
  })

/** The state, once it is so. */
export const untilState = (here: World, key: string, wanted: Partial<State>): Promise<State> =>
  eventually(async () => {
    const state = await stateOf(here, key)
    if (!fits(state, wanted)) throw new Error(`${key} is ${JSON.stringify(state)}`)
    return state as State
  })

export interface AgentUnderTest extends AsyncDisposable {
  readonly stateDir: string
  readonly process: MusterProcess
  /** Numbers of the programs that agents of this folder started and that live; only those of a key when it is given. */
  programs(key?: string): Promise<readonly number[]>
  /** The agent alone, and at once. */
  kill(): Promise<void>
}

/** An agent of this device. With it go its programs, also those that it would leave. */
export const startAgent = async (
  device: string,
  url: string,
  options: {
    readonly stateDir?: string
    readonly args?: readonly string[]
    /** Tests of other things need no root. */
    readonly programUser?: 'placement' | 'self'
    readonly env?: NodeJS.ProcessEnv
    /** What it is started by, before its own command. */
    readonly through?: readonly string[]
    /** By how many milliseconds its clock is ahead. */
    readonly skew?: number
  } = {},
): Promise<AgentUnderTest> => {
  const stateDir = options.stateDir ?? (await temporaryFolder('agent'))
  const { programUser = 'self' } = options
  const args = [
    'agent',
    `--device=${device}`,
    `--nats-url=${url}`,
    `--state-dir=${stateDir}`,
    `--program-user=${programUser}`,
    ...(options.args ?? []),
  ]
  const { through = [], env = {}, skew } = options
  const [program, ...before] = [...through, ...CHECKOUT] as const
  const agent = await startMuster(args, { ...env, ...(skew !== undefined && skewedBy(skew)) }, [
    program ?? '',
    ...before,
  ])
  const programs = (key?: string) => findMarkedLeaders(`${agentId(stateDir)}/${key === undefined ? '' : `${key}@`}`)
  return {
    stateDir,
    process: agent,
    programs: async (key) => (await programs(key)).map(({ pid }) => pid),
    kill: async () => {
      agent.signal('SIGKILL')
      await agent.exited
    },
    [Symbol.asyncDispose]: async () => {
      await agent.stop()
      for (const leader of await programs()) await killGroup(leader, systemClock)
    },
  }
}
