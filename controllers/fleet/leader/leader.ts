/**
 * What only one replica does, the one that holds the Lease. Once a second, for what has changed:
 *
 *   Deployments ─► woken: reconcile.ts has what is done for each
 *   Devices ─────► labels and inventory as agents tell them, status
 *   unneeded keys ► deleted, or held by the brake
 *   stray reports ► cleared: one device must not fill the store
 */

import type { HeldDeletions, Recovery } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { Api } from '#operator/client/api.ts'
import { isConflict, isNotFound } from '#operator/client/errors.ts'
import type { Events } from '#operator/client/events.ts'
import { LEASES } from '#operator/client/lease-record.ts'
import type { SourceContext } from '#operator/engine/context.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { DeploymentCache } from '../cache/deployments.ts'
import type { DeviceCache } from '../cache/devices.ts'
import type { Metrics } from '../metrics.ts'
import { DeploymentReconciler } from '../reconcile.ts'
import type { FleetStores } from '../sources/nats.ts'
import type { FleetState } from '../state/fleet-state.ts'
import type { NatsOutage } from '../state/sync-state.ts'
import { heldOfEach } from '../state/unneeded-keys.ts'
import { DeviceQueue } from './device-queue.ts'
import { KeyCollector } from './key-collector.ts'
import { leaseAnnotations } from './lease-annotations.ts'
import { clearStrayReports } from './stray-reports.ts'

export interface LeaderOptions {
  readonly state: FleetState
  readonly deployments: DeploymentCache
  readonly devices: DeviceCache
  /** Everything was read, and is followed. */
  isConverged(): boolean
  /** NATS is away, and the Deployments are known; else undefined. */
  natsOutage(): NatsOutage | undefined
  /** Undefined while NATS is away. */
  stores(): FleetStores | undefined
  /** Has a Deployment reconciled. */
  readonly wake: SourceContext['wake']
  /** Called with each new view. */
  brake(braked: Recovery['brake']): void
  readonly api: Api
  readonly events: Events
  readonly lease: { readonly name: string; readonly namespace: string }
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
}

/** Milliseconds from one tick to the next. FLEET-24. */
const TICK_MS = 1_000
/** Requests on their way at once. */
const MAX_CONCURRENT_REQUESTS = 8
/** Devices a tick: the first time there are thousands, and others want to be served as well. */
const MAX_DEVICES_PER_TICK = 500
/** Deployments with an event about what is held of them; the message of the Lease names as many. */
const MAX_WARNED = 5
/** Milliseconds after which keys are looked at again that wait for a person, or that turned out to be needed. */
const COLLECT_RETRY_INTERVAL_MS = 5_000
/** Milliseconds that NATS may be away before it is written into every status: a restart of a server is over sooner. */
const OUTAGE_GRACE_MS = 10_000

export class Leader {
  readonly #options: LeaderOptions
  readonly #reconciler: DeploymentReconciler
  /** To be woken by the next tick, so that Deployments and Devices are written of one moment. */
  readonly #dueDeployments = new Set<string>()
  /** Woken by a tick, and not looked at yet. */
  readonly #wokenDeployments = new Set<string>()
  readonly #deviceQueue = new DeviceQueue(MAX_DEVICES_PER_TICK)
  readonly #collector: KeyCollector
  #collectAt = 0
  /** The release of which the log tells. */
  #warnedOf: string | undefined

  constructor(options: LeaderOptions) {
    this.#options = options
    const { state, deployments, devices, api, lease } = options
    this.#reconciler = new DeploymentReconciler({ ...options, natsOutage: () => this.#lastingOutage() })
    this.#collector = new KeyCollector({
      state,
      api,
      isHeard: (device) => state.isAlive(device) && devices.saysAnything(device),
      isDeletionUnexplained: (deployment) => deployments.isDeletionUnexplained(deployment),
      lease: leaseAnnotations(api, lease),
    })
  }

  /** Until the signal aborts. Never throws: what fails is done again. */
  async run(signal: AbortSignal): Promise<void> {
    const { deployments, devices, clock, log } = this.#options
    for (const key of deployments.keys()) this.#dueDeployments.add(key)
    devices.markAllChanged()
    while (!signal.aborted) {
      const began = monotonic(clock)
      await this.#tick(signal).catch((error: unknown) =>
        log.error('fleet: a tick of the leader failed, the next one tries again', { err: error }),
      )
      await clock.sleep(Math.max(0, TICK_MS - (monotonic(clock) - began)), signal)
    }
    deployments.stopLeading()
    this.#options.brake(undefined)
  }

  /** What a tick woke a Deployment for; what else wakes it, the next tick knows. @throws ApiError, NetworkError */
  async reconcile(key: string): Promise<void> {
    if (!this.#wokenDeployments.delete(key)) return
    try {
      if ((await this.#reconciler.reconcile(key)) === 'Again') this.#dueDeployments.add(key)
    } catch (error) {
      this.#dueDeployments.add(key)
      throw error
    }
  }

  async #tick(signal: AbortSignal): Promise<void> {
    const { devices, isConverged } = this.#options
    this.#wakeDeployments()
    if (!isConverged()) return
    const { urgent, others } = devices.takeChanged()
    this.#deviceQueue.addUrgent(urgent)
    for (const name of others) this.#deviceQueue.add(name)
    await Promise.all([this.#reconcileDevices(signal), this.#collectKeys(), clearStrayReports(this.#options)])
  }

  /** Those of which something may be different; all of them while NATS is away, because their numbers are old. FLEET-73. */
  #wakeDeployments(): void {
    const { state, deployments, isConverged, wake } = this.#options
    if (!isConverged() && this.#lastingOutage() === undefined) return
    const changed = isConverged() ? [...state.takeDirtyDeployments(), ...deployments.takeChanged()] : deployments.keys()
    for (const key of changed) this.#dueDeployments.add(key)
    for (const key of this.#dueDeployments) {
      const object = deployments.object(key)
      if (object === undefined) continue
      this.#wokenDeployments.add(key)
      wake(object.metadata)
    }
    this.#dueDeployments.clear()
  }

  #lastingOutage(): NatsOutage | undefined {
    const outage = this.#options.natsOutage()
    return outage !== undefined && this.#options.clock.now().getTime() - outage.since.getTime() >= OUTAGE_GRACE_MS
      ? outage
      : undefined
  }

  /** Those of this tick; what fails stays due. */
  async #reconcileDevices(signal: AbortSignal): Promise<void> {
    const { log } = this.#options
    const names = this.#deviceQueue.takeBatch().values()
    const worker = async (): Promise<void> => {
      for (const name of names) {
        if (signal.aborted) return
        this.#deviceQueue.delete(name)
        try {
          await this.#reconcileDevice(name)
        } catch (error) {
          this.#deviceQueue.add(name)
          // Another program wrote or deleted it: the watch tells, and then it is looked at again.
          const level = isConflict(error) || isNotFound(error) ? 'debug' : 'warn'
          log[level]('the Device could not be written', { object: name, problem: messageOf(error) })
        }
      }
    }
    await Promise.all(Array.from({ length: MAX_CONCURRENT_REQUESTS }, worker))
  }

  async #reconcileDevice(name: string): Promise<void> {
    const { devices, api, clock, metrics } = this.#options
    const requests = await devices.reconcile(api, name, clock.now())
    if (requests > 0) metrics.patches.inc({ kind: 'Device' }, requests)
  }

  async #collectKeys(): Promise<void> {
    const { stores, clock, log, metrics, brake } = this.#options
    const target = stores()?.desired
    const now = monotonic(clock)
    if (target === undefined || now < this.#collectAt) return
    try {
      const { collected, spared, held } = await this.#collector.collect(target, clock.now(), now)
      if (collected.length > 0) {
        metrics.orphans.inc(collected.length)
        const keys = collected.slice(0, 10).map(({ key }) => key)
        log.info('fleet: keys that nothing needs were deleted', {
          count: collected.length,
          spared: spared.length,
          keys,
        })
      }
      brake(held)
      if (held !== undefined) await this.#warnOfBrake(held)
      // What was spared is needed by what the watch has not told yet.
      this.#collectAt = held === undefined && spared.length === 0 ? now : now + COLLECT_RETRY_INTERVAL_MS
    } catch (error) {
      log.warn('fleet: keys that nothing needs could not be deleted, trying again', { problem: messageOf(error) })
    }
  }

  async #warnOfBrake(held: HeldDeletions): Promise<void> {
    const { release, message } = held
    const { api, lease, events, log, deployments } = this.#options
    const found = await api.get(LEASES, lease.name, lease.namespace)
    if (found !== undefined) events.about(found).warning('OrphansHeld', message)
    // A person whose slip it was looks at the Deployment, which is Ready: it has all that it asks for. FLEET-108.
    const released = `${lease.namespace}/${lease.name}`
    const there = heldOfEach(held, released).flatMap(({ deployment, message: own }) => {
      const object = deployments.object(deployment)
      return object === undefined ? [] : [{ object, own }]
    })
    for (const { object, own } of there.slice(0, MAX_WARNED)) events.about(object).warning('OrphansHeld', own)
    if (release !== this.#warnedOf) log.warn(`fleet: ${message}`, { lease: released })
    this.#warnedOf = release
  }
}
