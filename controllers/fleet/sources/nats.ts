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
import type { DeviceCache } from '../cache/devices.ts'
import type { Metrics } from '../metrics.ts'
import type { BucketListener } from '../nats/bucket-watch.ts'
import { createDesiredStore, type DesiredStore } from '../nats/desired-store.ts'
import type { BucketLook } from '../nats/provision.ts'
import { createReportStore, type ReportStore } from '../nats/report-store.ts'
import { followBuckets } from '../nats/session.ts'
import type { FleetState } from '../state/fleet-state.ts'
import type { KeyUpdate } from '../state/key-update.ts'
import { NATS_FEEDS, type NatsFeed } from '../state/sync-state.ts'
import { MalformedLog } from './malformed-log.ts'
import type { SourceListener } from './source-listener.ts'

export interface NatsSourceOptions {
  readonly access: NatsAccess
  /** The namespace whose keys it reads; all when undefined. */
  readonly namespace: string | undefined
  readonly state: FleetState
  readonly devices: DeviceCache
  readonly listener: SourceListener
  /** What can be written to; undefined while NATS is away. */
  stores(stores: FleetStores | undefined): void
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
}

/** The buckets that an operator writes to. */
export interface FleetStores {
  readonly desired: DesiredStore
  readonly reports: ReportStore
}

/** Until the signal aborts; then no connection is left. Never rejects. */
export const followNats = (options: NatsSourceOptions, signal: AbortSignal): Promise<void> => {
  const { access, namespace, state, devices, listener, metrics, clock, log } = options
  const placements = namespace === undefined ? '>' : `*.${namespace}.*`
  const listen = (feed: NatsFeed, seen: (key: KeyUpdate) => MalformedEntry | undefined, recreated: () => void) =>
    createListener(options, feed, seen, recreated)
  return followBuckets<NatsFeed>({
    access,
    buckets: {
      desired: { settings: BUCKETS.desired, keys: placements, listener: listenDesired(options) },
      states: {
        settings: BUCKETS.state,
        keys: placements,
        isSaidAgain: true,
        listener: listen(
          'states',
          (seen) => state.stateSeen(seen),
          () => state.bucketRecreated('state'),
        ),
      },
      heartbeats: {
        settings: BUCKETS.heartbeat,
        keys: '>',
        listener: listen(
          'heartbeats',
          (seen) => devices.heartbeatSeen(seen),
          () => devices.heartbeatBucketRecreated(),
        ),
      },
      infos: {
        settings: BUCKETS.info,
        keys: '>',
        listener: listen(
          'infos',
          (seen) => devices.infoSeen(seen),
          () => devices.infoBucketRecreated(),
        ),
      },
    },
    opened: (buckets, manager) =>
      options.stores({
        desired: createDesiredStore({ kv: buckets.desired, manager, signer: state.signer, now: () => clock.now() }),
        reports: createReportStore(manager, namespace),
      }),
    onLook: watchRoom(options),
    lost: ({ reason, message }) => {
      options.stores(undefined)
      metrics.lost.inc({ reason })
      for (const feed of NATS_FEEDS) listener.syncChanged(feed, { type: 'Lost', problem: message })
    },
    clock,
    log,
    signal,
  })
}

/** Share of its limit above which a bucket is nearly full. */
const NEARLY_FULL = 0.8

/** Tells of buckets that are nearly full before they refuse anything. FLEET-91. */
const watchRoom = ({ metrics, log }: NatsSourceOptions) => {
  const crowded = new Set<NatsFeed>()
  return (bucket: NatsFeed, { usedBytes, maxBytes }: BucketLook): void => {
    metrics.bucketBytes.set({ bucket }, usedBytes)
    if (maxBytes === undefined) metrics.bucketLimit.remove({ bucket })
    else metrics.bucketLimit.set({ bucket }, maxBytes)
    const isCrowded = maxBytes !== undefined && usedBytes >= NEARLY_FULL * maxBytes
    if (isCrowded === crowded.has(bucket)) return
    if (!isCrowded) {
      crowded.delete(bucket)
      return
    }
    crowded.add(bucket)
    log.warn('fleet: a bucket is nearly full, what does not fit will be refused: raise its limit', {
      bucket,
      bytes: usedBytes,
      limit: maxBytes,
    })
  }
}

/** What is in fleet-desired when the operator begins is the seed. */
const listenDesired = (options: NatsSourceOptions): BucketListener => {
  const { state } = options
  let isSeeded = false
  const seen = (key: KeyUpdate) => (isSeeded ? state.desiredSeen(key) : state.seed([key])[0])
  const listener = createListener(options, 'desired', seen, () => state.bucketRecreated('desired'))
  return {
    ...listener,
    recreated: (cause) => {
      // What is in a store that went back may be of Deployments that are gone: nothing but this reading tells of it.
      isSeeded = false
      listener.recreated(cause)
    },
    replayed: (entries) => {
      isSeeded = true
      listener.replayed(entries)
    },
  }
}

const createListener = (
  { listener, clock, log, metrics }: NatsSourceOptions,
  feed: NatsFeed,
  seen: (key: KeyUpdate) => MalformedEntry | undefined,
  recreated: () => void,
): BucketListener => {
  const malformed = new MalformedLog(feed, metrics, clock, log)
  return {
    seen: (key) => {
      const problem = seen(key)
      if (problem !== undefined) malformed.tell(key.key, problem)
      listener.changed()
    },
    recreated: (cause) => {
      log.warn('fleet: the store of a bucket is not the one that was read, reading it again', { bucket: feed, cause })
      recreated()
      listener.syncChanged(feed, { type: 'Wiped', cause })
    },
    progress: (replayed, total) => listener.syncChanged(feed, { type: 'Progress', replayed, total }),
    replayed: (entries) => {
      log.debug('fleet: a bucket was read', { bucket: feed, entries })
      listener.syncChanged(feed, { type: 'Replayed' })
    },
  }
}
