/**
 * Keeps the buckets followed, whatever happens to NATS. There is one way for the start, a restart of the server, a cut network and
 * a wiped store: connect, check the server, make or check the buckets, read them, and follow them until anything breaks; then all of
 * it again. FLEET-11, FLEET-13.
 */

import type { JetStreamManager } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { newestEntry } from '#lib/nats/bucket-entries.ts'
import { type Connected, type NatsAccess, openConnection, toNatsProblem } from '#lib/nats/connection.ts'
import { NatsProblem } from '#lib/nats/problem.ts'
import { detach } from '#lib/process/detach.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { BucketWatch, type WatchedBucket } from './bucket-watch.ts'
import { serveDeviceConsumers } from './device-consumers.ts'
import { type BucketLook, checkIncarnation, ensureBucket, type Incarnation } from './provision.ts'

export interface FollowOptions<Name extends string> {
  readonly access: NatsAccess
  readonly buckets: Readonly<Record<Name, WatchedBucket>>
  /** The buckets can be written to, until `lost`. */
  opened(buckets: Readonly<Record<Name, KV>>, manager: JetStreamManager): void
  /** A bucket at a look, every five seconds. */
  onLook(name: Name, look: BucketLook): void
  /** Called for every attempt that failed and for every connection that broke. */
  lost(problem: NatsProblem): void
  readonly clock: Clock
  readonly log: Logger
  /** Ends it for good. */
  readonly signal: AbortSignal
}

/** Milliseconds between attempts; the last one again and again. */
const RETRY_DELAYS_MS = [100, 500, 1_000, 2_000] as const
/** Milliseconds between looks at whether the buckets are still the same; a session that lasted so long was a good one. */
const BUCKET_CHECK_INTERVAL_MS = 5_000

type ByName<Name extends string, T> = Readonly<Record<Name, T>>

/** Resolves once the signal has aborted and no connection, watch or timer is left. Never rejects. */
export const followBuckets = async <Name extends string>(options: FollowOptions<Name>): Promise<void> => {
  const { buckets, signal, clock, log } = options
  const names = Object.keys(buckets) as Name[]
  const mirrors = mapOf(names, (name) => new BucketWatch(buckets[name], clock))
  let attempt = 0
  let lastProblem: string | undefined
  while (!signal.aborted) {
    const began = monotonic(clock)
    // Cut off before all of it was read, it goes on where it ended. FLEET-78.
    if (names.every((name) => mirrors[name].isReplayed)) for (const name of names) mirrors[name].readAnew()
    try {
      await runSession(options, names, mirrors)
    } catch (error) {
      if (signal.aborted) break
      const problem = toNatsProblem('answer', error)
      // The same again and again is one line.
      if (lastProblem !== problem.message)
        log.warn('fleet: NATS can’t be used, trying again', { reason: problem.reason, problem: problem.message })
      lastProblem = problem.message
      options.lost(problem)
    }
    if (monotonic(clock) - began >= BUCKET_CHECK_INTERVAL_MS) attempt = 0
    await clock.sleep(RETRY_DELAYS_MS[Math.min(attempt, RETRY_DELAYS_MS.length - 1)] ?? 0, signal)
    attempt += 1
  }
}

/** One connection, from its beginning to its end. @throws NatsProblem unless the signal ended it */
const runSession = async <Name extends string>(
  options: FollowOptions<Name>,
  names: readonly Name[],
  mirrors: ByName<Name, BucketWatch>,
): Promise<void> => {
  const { buckets, signal, clock, log } = options
  const connected = await openConnection(options.access)
  const { connection } = connected
  using ending = new AbortScope(signal)
  // What waits for an answer of this connection ends with it.
  const close = () => detach('closing the connection to NATS', connection.close())
  signal.addEventListener('abort', close, { once: true })
  let parts: readonly Promise<void>[] = []
  try {
    const incarnations = await eachOf(names, (name) => ensureBucket(connected, buckets[name].settings, log))
    const kvm = new Kvm(connection)
    const open = await eachOf(names, (name) => kvm.open(buckets[name].settings.name, { allow_direct: true }))
    options.opened(open, connected.manager)
    log.info('fleet: connected to NATS, reading its buckets', { version: connection.info?.version })
    parts = [
      ...names.map((name) => mirrors[name].follow(connected, incarnations[name], ending.signal)),
      serveDeviceConsumers(connected, clock, ending.signal),
      watch(options, names, incarnations, mirrors, connected, ending.signal),
      connectionLost(connection),
    ]
    // The first that ends is the end of all: each of them lasts as long as the connection is good.
    await Promise.race(parts)
    if (!signal.aborted) throw new NatsProblem('Unreachable', 'the connection to NATS broke')
  } finally {
    ending.abort()
    signal.removeEventListener('abort', close)
    await connection.close()
    await Promise.allSettled(parts)
  }
}

/** Looks now and then whether the buckets are still those that are followed: a watch of one that is gone, or was purged, is silent for ever. */
const watch = async <Name extends string>(
  { buckets, onLook, clock }: FollowOptions<Name>,
  names: readonly Name[],
  incarnations: ByName<Name, Incarnation>,
  mirrors: ByName<Name, BucketWatch>,
  { manager }: Connected,
  signal: AbortSignal,
): Promise<void> => {
  for (;;) {
    await clock.sleep(BUCKET_CHECK_INTERVAL_MS, signal)
    if (signal.aborted) return
    await eachOf(names, (name) => {
      const bucket = buckets[name].settings.name
      const look = async () => {
        const seen = await checkIncarnation(manager, bucket, incarnations[name])
        onLook(name, seen)
        return seen
      }
      return mirrors[name].check(look, (key) => newestEntry(manager, bucket, key))
    })
  }
}

const connectionLost = async (connection: Connected['connection']): Promise<void> => {
  const error = await connection.closed()
  if (error !== undefined) throw toNatsProblem('keep the connection', error)
}

const mapOf = <Name extends string, T>(names: readonly Name[], of: (name: Name) => T): ByName<Name, T> =>
  Object.fromEntries(names.map((name) => [name, of(name)])) as ByName<Name, T>

const eachOf = async <Name extends string, T>(
  names: readonly Name[],
  of: (name: Name) => Promise<T>,
): Promise<ByName<Name, T>> => {
  const values = await Promise.all(names.map(async (name) => [name, await of(name)] as const))
  return Object.fromEntries(values) as ByName<Name, T>
}
