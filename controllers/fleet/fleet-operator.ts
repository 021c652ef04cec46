/**
 * One run of the fleet operator, from its start to its stop. It keeps nothing: what it knows, it reads.
 *
 *   Deployments, Devices, revisions (the runtime's) ──┐
 *   fleet-desired as it is at the start: the seed ────┼─► FleetState ─┬─► writes, as soon as all was read
 *   fleet-state, fleet-heartbeat, fleet-info ─────────┘               └─► lead: status, rollouts, keys (one replica)
 *
 * Nothing is decided before the seed and all else was read to its end, so the order of what comes from NATS does not matter.
 * FLEET-1, FLEET-2, FLEET-9, FLEET-20.
 */

import type { FleetView, Recovery } from '#apis/fleet.nationtech.io/fleet-view.ts'
import type { DeviceKeyFolder } from '#apis/fleet.nationtech.io/kv/device-keys.ts'
import type { FleetKeyFile } from '#apis/fleet.nationtech.io/kv/key-file.ts'
import { parsePlacementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import type { NatsAccess } from '#lib/nats/connection.ts'
import type { Api } from '#operator/client/api.ts'
import { createEvents, type Events } from '#operator/client/events.ts'
import { type LeaseTimes, runWithLease } from '#operator/client/lease.ts'
import type { MayWait, SourceContext } from '#operator/engine/context.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { keyOf } from '#operator/model/resource.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import { DeploymentCache } from './cache/deployments.ts'
import { DeviceCache } from './cache/devices.ts'
import { writeDesired } from './desired-writer.ts'
import { createFleetView, type FleetViewInput } from './fleet-view.ts'
import { Leader } from './leader/leader.ts'
import type { Metrics } from './metrics.ts'
import { followKeys } from './signing.ts'
import { followKubernetes } from './sources/kubernetes.ts'
import { type FleetStores, followNats } from './sources/nats.ts'
import type { SourceListener } from './sources/source-listener.ts'
import { FleetState } from './state/fleet-state.ts'
import type { DesiredWrite } from './state/key-update.ts'
import {
  FEEDS,
  type Feed,
  findNatsOutage,
  initialSyncStates,
  PHASE_MEANINGS,
  type SyncEvent,
  type SyncStates,
  sourceSyncState,
  summarizeSync,
  withSyncEvent,
} from './state/sync-state.ts'

export interface FleetOperatorOptions {
  readonly access: NatsAccess
  /** The namespace whose Deployments it works on; all when undefined. */
  readonly namespace: string | undefined
  /** Labels that devices choose themselves: keys, prefixes that end in a slash, `*` for all. */
  readonly ownLabels: readonly string[]
  /** What entries are signed by; undefined where they are not. FLEET-103. */
  readonly signingKeys: FleetKeyFile | undefined
  /** By which devices sign what they say; undefined where that is not asked for. FLEET-122. */
  readonly deviceKeys: DeviceKeyFolder | undefined
  /** Decides which replica leads. */
  readonly lease: { readonly name: string; readonly namespace: string; readonly times?: LeaseTimes }
  /** Of this process. */
  readonly identity: string
  readonly metrics: Metrics
  readonly api: Api
  /** The watches of the runtime. */
  readonly follow: SourceContext['follow']
  readonly clock: Clock
  readonly log: Logger
  /** Has a Deployment reconciled, and its deletion looked at. */
  readonly wake: SourceContext['wake']
}

/** Milliseconds after which what failed is tried again although nothing happened. */
const RETRY_INTERVAL_MS = 1_000
/** Milliseconds after which what waits is decided again: what the store had no room for, and what is disputed. */
const WAITING_INTERVAL_MS = 5_000

export class FleetOperator {
  readonly #options: FleetOperatorOptions
  readonly #state: FleetState
  readonly #deployments: DeploymentCache
  readonly #devices: DeviceCache
  readonly #wakeSignal: WakeSignal
  readonly #listeners = new Set<() => void>()
  #syncStates: SyncStates
  #stores: FleetStores | undefined
  #leader: Leader | undefined
  #brake: Recovery['brake']
  readonly view: FleetView

  constructor(options: FleetOperatorOptions) {
    const { api, clock, log, lease, ownLabels, deviceKeys } = options
    this.#options = options
    this.#state = new FleetState(options.signingKeys?.keys)
    this.#syncStates = initialSyncStates(clock.now())
    this.#wakeSignal = new WakeSignal(clock)
    this.#deployments = new DeploymentCache({ state: this.#state, api, clock, log })
    this.#devices = new DeviceCache(this.#state, clock, `${lease.namespace}/${lease.name}`, ownLabels, deviceKeys)
    const shown: FleetViewInput = {
      state: this.#state,
      deployments: this.#deployments,
      devices: this.#devices,
      recovery: () => this.recovery(),
    }
    this.view = createFleetView(shown, (listener) => {
      this.#listeners.add(listener)
      return () => this.#listeners.delete(listener)
    })
  }

  recovery(): Recovery {
    return { ...summarizeSync(this.#syncStates), isLeading: this.#leader !== undefined, brake: this.#brake }
  }

  /**
   * Stores a new workload of a Deployment as its next revision; the replica that leads brings rollout and status up to date.
   * @throws ApiError, NetworkError
   */
  async reconcile(key: string): Promise<MayWait> {
    const isStored = await this.#deployments.storeNext(key)
    const hasWindows = this.#deployments.recheckWindows(key)
    await this.#reconcileAsLeader(key)
    return !isStored || hasWindows ? { requeueAfter: RETRY_INTERVAL_MS } : undefined
  }

  async #reconcileAsLeader(key: string): Promise<void> {
    const leader = this.#leader
    try {
      await leader?.reconcile(key)
    } catch (error) {
      // It leads no more, which ended its requests.
      if (leader === this.#leader) throw error
    }
  }

  /** A person deleted it: its keys go, however many. FLEET-77. */
  deletedByPerson(key: string): void {
    this.#deployments.deletedByPerson(key)
    this.#wakeSignal.wake()
  }

  /** It goes with its namespace: its keys go as the brake lets them. FLEET-77. */
  goesWithNamespace(key: string): void {
    this.#deployments.goesWithNamespace(key)
  }

  /** It may be asked how it was deleted: its keys were read, so what is found is known of them. */
  isDeletionUnexplained(key: string): boolean {
    return this.#isEverythingRead() && this.#deployments.isDeletionUnexplained(key)
  }

  /** The keys of a Deployment that is being deleted are gone. */
  areKeysDeleted(key: string): boolean {
    return this.#isEverythingRead() && !this.#state.hasKeys(key)
  }

  /**
   * Until the signal aborts; then no timer, watch or connection is left.
   * @throws what a part of it threw, after the others have ended: the caller starts another one
   */
  async run(parentSignal: AbortSignal): Promise<void> {
    const { api, clock, log, metrics, identity } = this.#options
    const began = monotonic(clock)
    const scope = new AbortScope(parentSignal)
    const { signal } = scope
    const events = createEvents({ api, clock, log, controller: 'muster-fleet', instance: identity })
    metrics.measure({ recovery: () => this.recovery(), counts: () => this.#counts(), devices: this.#devices })
    const parts = [
      this.#follow(signal),
      this.#writeLoop(signal, began),
      this.#notifyViewers(signal),
      followKeys({ ...this.#options, state: this.#state, devices: this.#devices, wake: this.#wakeSignal }, signal),
      this.#lead(events, signal),
    ]
    try {
      await Promise.all(parts)
    } finally {
      scope.abort(new Error('the fleet operator has ended'))
      await Promise.allSettled(parts)
      await events.close('1s')
      metrics.measure(undefined)
    }
  }

  #follow(signal: AbortSignal): Promise<void> {
    const { access, namespace, follow, metrics, clock, log } = this.#options
    const listener: SourceListener = {
      syncChanged: (feed, event) => this.#updateSync(feed, event),
      changed: () => this.#wakeSignal.wake(),
    }
    const [state, deployments, devices] = [this.#state, this.#deployments, this.#devices]
    const stores = (to: FleetStores | undefined) => {
      this.#stores = to
    }
    followKubernetes({ deployments, devices, listener }, follow)
    return followNats({ access, namespace, state, devices, listener, stores, metrics, clock, log }, signal)
  }

  #updateSync(feed: Feed, event: SyncEvent): void {
    const before = summarizeSync(this.#syncStates).phase
    this.#syncStates = withSyncEvent(this.#syncStates, feed, event, this.#options.clock.now())
    const { phase } = summarizeSync(this.#syncStates)
    if (phase !== before) this.#options.log.info(`fleet: ${PHASE_MEANINGS[phase]}`, { phase, before, feed })
    this.#wakeSignal.wake()
  }

  /** Everything was read once: what is not there does not exist. */
  #isEverythingRead(): boolean {
    return FEEDS.every((feed) => this.#syncStates[feed].phase !== 'Recovering')
  }

  /** Stores what is to be stored, at once. */
  async #writeLoop(signal: AbortSignal, began: number): Promise<void> {
    const { clock, log } = this.#options
    let isFirst = true
    let retriedAt = began
    while (!signal.aborted) {
      await this.#wakeSignal.wait(RETRY_INTERVAL_MS, signal)
      if (signal.aborted || !this.#isEverythingRead()) continue
      if (isFirst)
        log.info('fleet: the fleet was read, what differs is written from now on', {
          ...this.#counts(),
          ms: Math.round(monotonic(clock) - began),
        })
      isFirst = false
      this.#devices.recheckTimed()
      if (monotonic(clock) - retriedAt >= WAITING_INTERVAL_MS) {
        retriedAt = monotonic(clock)
        this.#state.retryWaiting()
      }
      await writeDesired(
        {
          state: this.#state,
          store: () => this.#stores?.desired,
          stored: (write) => this.#writeStored(write),
          refused: () => this.#options.metrics.refusedWrites.inc(),
          log,
        },
        signal,
      )
    }
  }

  #writeStored({ kind, key }: DesiredWrite): void {
    this.#options.metrics.writes.inc({ kind })
    if (kind === 'Put') return
    const { namespace, deployment: name } = parsePlacementKey(key)
    const { metadata } = this.#deployments.object(keyOf({ namespace, name })) ?? {}
    if (metadata?.deletionTimestamp !== undefined && !this.#state.hasKeys(keyOf({ namespace, name })))
      this.#options.wake({ namespace, name })
  }

  /** Tells the pages that show the fleet, at most once a second. */
  async #notifyViewers(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      await clock.sleep(RETRY_INTERVAL_MS, signal)
      for (const listener of this.#listeners) listener()
    }
  }

  async #lead(events: Events, signal: AbortSignal): Promise<void> {
    const { api, wake, clock, log, identity, lease, metrics } = this.#options
    await runWithLease({ api, ...lease, identity, clock, log, signal }, async (leading) => {
      const leader = new Leader({
        state: this.#state,
        deployments: this.#deployments,
        devices: this.#devices,
        isConverged: () => summarizeSync(this.#syncStates).phase === 'Converged',
        natsOutage: () =>
          sourceSyncState(this.#syncStates, 'deployments').phase === 'Converged'
            ? findNatsOutage(this.#syncStates)
            : undefined,
        stores: () => this.#stores,
        wake,
        brake: (brake) => {
          this.#brake = brake
        },
        api: api.withLimits({ signal: leading }),
        events,
        lease,
        metrics,
        clock,
        log,
      })
      try {
        this.#leader = leader
        await leader.run(leading)
      } finally {
        this.#leader = undefined
      }
    })
  }

  #counts() {
    return { deployments: [...this.#deployments.keys()].length, ...this.#devices.counts() }
  }
}
