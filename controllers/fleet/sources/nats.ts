/**
 * What comes from NATS: the four buckets, each told to whom it concerns.
 *
 *   fleet-desired ──── the first time: the seed, then changes ─┐
 *   fleet-state ───────────────────────────────────────────────┼─► FleetState
 *   fleet-heartbeat ───────────────────────────────────────────┤
 *   fleet-info ────────────────────────────────────────────────┴─► Devices
 */

import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import type { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import type { NatsAccess } from '#lib/nats/connection.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Devices } from '../cache/devices.ts'
import type { Metrics } from '../metrics.ts'
import type { BucketListener } from '../nats/bucket-watch.ts'
import { type DesiredStore, desiredStore } from '../nats/desired-store.ts'
import { keepSession } from '../nats/session.ts'
import type { FleetState, KeySeen } from '../state/fleet-state.ts'
import { NATS_FEEDS, type NatsFeed } from '../state/sync-state.ts'
import type { SourceListener } from './source-listener.ts'

export interface NatsSourceOptions {
  readonly access: NatsAccess
  /** The namespace whose keys it reads; all when undefined. */
  readonly namespace: string | undefined
  readonly state: FleetState
  readonly devices: Devices
  readonly listener: SourceListener
  /** What can be written to; undefined while NATS is away. */
  store(store: DesiredStore | undefined): void
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
}

/** Until the signal aborts; then no connection is left. Never rejects. */
export const followNats = (options: NatsSourceOptions, signal: AbortSignal): Promise<void> => {
  const { access, namespace, state, devices, listener, metrics, clock, log } = options
  const placements = namespace === undefined ? '>' : `*.${namespace}.*`
  const told = (feed: NatsFeed, seen: (key: KeySeen) => MalformedEntry | undefined, wiped: () => void) =>
    toldOf(options, feed, seen, wiped)
  return keepSession<NatsFeed>({
    access,
    buckets: {
      desired: { settings: BUCKETS.desired, keys: placements, listener: desired(options) },
      states: {
        settings: BUCKETS.state,
        keys: placements,
        listener: told(
          'states',
          (seen) => state.stateSeen(seen),
          () => state.wiped('state'),
        ),
      },
      heartbeats: {
        settings: BUCKETS.heartbeat,
        keys: '>',
        listener: told(
          'heartbeats',
          (seen) => devices.beatSeen(seen),
          () => devices.beatsWiped(),
        ),
      },
      infos: {
        settings: BUCKETS.info,
        keys: '>',
        listener: told(
          'infos',
          (seen) => devices.infoSeen(seen),
          () => devices.infosWiped(),
        ),
      },
    },
    opened: (buckets) => options.store(desiredStore(buckets.desired, () => clock.now())),
    lost: ({ reason, message }) => {
      options.store(undefined)
      metrics.lost.inc({ reason })
      for (const feed of NATS_FEEDS) listener.latch(feed, { type: 'Lost', problem: message })
    },
    clock,
    log,
    signal,
  })
}

/** What is in fleet-desired when the operator begins is the seed. */
const desired = (options: NatsSourceOptions): BucketListener => {
  const { state } = options
  let isSeeded = false
  const seen = (key: KeySeen) => (isSeeded ? state.desiredSeen(key) : state.seed([key])[0])
  const told = toldOf(options, 'desired', seen, () => state.wiped('desired'))
  return {
    ...told,
    replayed: () => {
      isSeeded = true
      told.replayed()
    },
  }
}

const toldOf = (
  { listener, log, metrics }: NatsSourceOptions,
  feed: NatsFeed,
  seen: (key: KeySeen) => MalformedEntry | undefined,
  wiped: () => void,
): BucketListener => ({
  seen: (key) => {
    const problem = seen(key)
    if (problem !== undefined) {
      metrics.malformed.inc({ bucket: feed, reason: problem.reason })
      log.warn('an entry is malformed and was skipped', { bucket: feed, key: key.key, problem: problem.message })
    }
    listener.changed()
  },
  wiped: () => {
    log.warn('the store of a bucket was made anew', { bucket: feed })
    wiped()
    listener.latch(feed, { type: 'Wiped' })
  },
  progress: (replayed, total) => listener.latch(feed, { type: 'Progress', replayed, total }),
  replayed: () => listener.latch(feed, { type: 'Replayed' }),
})
