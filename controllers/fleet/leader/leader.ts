/**
 * What only one replica does, the one that holds the Lease. Once a second, for what has changed:
 *
 *   Deployments ─► step of the rollout ─► status, at most once a second each
 *   Devices ─────► labels and inventory as agents tell them, status
 *   unneeded keys ► deleted, or held by the brake
 *   NATS away ───► each Deployment says that its numbers are old; nothing else is done
 *
 * A step counts only once it is stored in the status: what all replicas do then follows from it, and a crash loses nothing.
 */

import type { HeldDeletions, Recovery } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { Deployment, type DeploymentStatus } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Api } from '#operator/client/api.ts'
import { isConflict, isNotFound, messageOf } from '#operator/client/errors.ts'
import type { Events } from '#operator/client/events.ts'
import { LEASES } from '#operator/client/lease-record.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { DeploymentCache, DeploymentRevisions } from '../cache/deployments.ts'
import type { DeviceCache } from '../cache/devices.ts'
import type { Metrics } from '../metrics.ts'
import type { DesiredStore } from '../nats/desired-store.ts'
import { admittedDevices, advanceRollout, type RolloutInput, type RolloutStep } from '../rollout/advance.ts'
import { parseControls } from '../rollout/annotations.ts'
import { buildRolloutDevice } from '../rollout/member.ts'
import { buildRestoration, selectKeptRevisions } from '../rollout/revisions.ts'
import { belongsToRollout } from '../rollout/rollout-plan.ts'
import type { FleetState } from '../state/fleet-state.ts'
import type { NatsOutage } from '../state/sync-state.ts'
import { buildDeploymentStatus, buildOutdatedStatus } from '../status/deployment-status.ts'
import { DeviceQueue } from './device-queue.ts'
import { KeyCollector } from './key-collector.ts'
import { leaseAnnotations } from './lease-annotations.ts'
import { rolloutEvents } from './rollout-events.ts'

export interface LeaderOptions {
  readonly state: FleetState
  readonly deployments: DeploymentCache
  readonly devices: DeviceCache
  /** Everything was read, and is followed. */
  isConverged(): boolean
  /** NATS is away, and the Deployments are known; else undefined. */
  natsOutage(): NatsOutage | undefined
  store(): DesiredStore | undefined
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
/** Milliseconds after which keys are looked at again that wait for a person, or that turned out to be needed. */
const COLLECT_RETRY_INTERVAL_MS = 5_000
/** Milliseconds that NATS may be away before it is written into every status: a restart of a server is over sooner. */
const OUTAGE_GRACE_MS = 10_000

export class Leader {
  readonly #options: LeaderOptions
  readonly #dueDeployments = new Set<string>()
  readonly #deviceQueue = new DeviceQueue(MAX_DEVICES_PER_TICK)
  readonly #collector: KeyCollector
  #collectAt = 0
  /** The release of which the log tells. */
  #warnedOf: string | undefined

  constructor(options: LeaderOptions) {
    this.#options = options
    const { state, devices, api, lease } = options
    this.#collector = new KeyCollector({
      state,
      api,
      isHeard: (device) => state.isAlive(device) && devices.info(device) !== undefined,
      lease: leaseAnnotations(api, lease),
    })
  }

  /** Until the signal aborts. Never throws: what fails is done again. */
  async run(signal: AbortSignal): Promise<void> {
    const { deployments, devices, clock, log, isConverged } = this.#options
    for (const key of deployments.keys()) this.#dueDeployments.add(key)
    devices.markAllChanged()
    while (!signal.aborted) {
      const began = monotonic(clock)
      const work = isConverged() ? this.#tick(signal) : this.#tickWithoutNats(signal)
      await work.catch((error: unknown) => log.error('a tick of the fleet broke off', { err: error }))
      await clock.sleep(Math.max(0, TICK_MS - (monotonic(clock) - began)), signal)
    }
    deployments.stopLeading()
    this.#options.brake(undefined)
  }

  async #tick(signal: AbortSignal): Promise<void> {
    const { state, deployments, devices } = this.#options
    for (const key of [...state.takeDirtyDeployments(), ...deployments.takeChanged()]) this.#dueDeployments.add(key)
    const { urgent, others } = devices.takeChanged()
    this.#deviceQueue.addUrgent(urgent)
    for (const name of others) this.#deviceQueue.add(name)
    await Promise.all([
      this.#workThrough(this.#dueDeployments, [...this.#dueDeployments], signal, (key) =>
        this.#reconcileDeployment(key),
      ),
      this.#workThrough(this.#deviceQueue, this.#deviceQueue.takeBatch(), signal, (name) =>
        this.#reconcileDevice(name),
      ),
      this.#collectKeys(),
    ])
  }

  /** What is shown of a Deployment is old from now on: its status says so, and is brought up to date once NATS is back. */
  async #tickWithoutNats(signal: AbortSignal): Promise<void> {
    const { deployments, natsOutage, clock } = this.#options
    const loss = natsOutage()
    if (loss === undefined || clock.now().getTime() - loss.since.getTime() < OUTAGE_GRACE_MS) return
    const keys = [...deployments.keys()]
    await this.#workThrough(new Set(keys), keys, signal, (key) => this.#markOutdated(key, loss))
    for (const key of keys) this.#dueDeployments.add(key)
  }

  async #markOutdated(key: string, loss: NatsOutage): Promise<'Done'> {
    const object = this.#options.deployments.object(key)
    if (object !== undefined && object.metadata.deletionTimestamp === undefined)
      await this.#writeStatus(object, buildOutdatedStatus(object, loss, this.#options.clock.now()))
    return 'Done'
  }

  /** @returns whether there was anything to write @throws ApiError, NetworkError */
  async #writeStatus(object: Deployment, status: DeploymentStatus): Promise<boolean> {
    const { deployments, api, metrics } = this.#options
    if (object.status !== undefined && digestOf(object.status) === digestOf(status)) return false
    const written = await api.replace(Deployment, { ...object, status }, 'status')
    metrics.patches.inc({ kind: 'Deployment' })
    deployments.written(written)
    return true
  }

  /** Works on each; what fails, or wants to be looked at again, stays due. */
  async #workThrough(
    due: { add(item: string): void; delete(item: string): void },
    items: readonly string[],
    signal: AbortSignal,
    work: (item: string) => Promise<'Done' | 'Again'>,
  ): Promise<void> {
    const { log } = this.#options
    const next = items.values()
    const worker = async (): Promise<void> => {
      for (const item of next) {
        if (signal.aborted) return
        due.delete(item)
        try {
          if ((await work(item)) === 'Again') due.add(item)
        } catch (error) {
          due.add(item)
          // Another program wrote or deleted it: the watch tells, and then it is looked at again.
          const level = isConflict(error) || isNotFound(error) ? 'debug' : 'warn'
          log[level]('the status could not be written', { object: item, problem: messageOf(error) })
        }
      }
    }
    await Promise.all(Array.from({ length: MAX_CONCURRENT_REQUESTS }, worker))
  }

  async #reconcileDeployment(key: string): Promise<'Done' | 'Again'> {
    const { state, deployments, events, clock } = this.#options
    const rolled = deployments.revisions(key)
    const object = deployments.object(key)
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return 'Done'
    const now = clock.now()
    const laterEntries = state.countLaterEntries(key)
    const { advanced, fault } = await this.#advanceRollout(key, rolled, laterEntries, now)
    const rollout = advanced?.status ?? object.status?.rollout
    const status = buildDeploymentStatus({
      object,
      aggregate: state.aggregate(key),
      conflictCounts: state.conflictCounts(key),
      revision: rolled?.target.revision,
      rollout,
      isLate: advanced?.isLate ?? false,
      laterEntries,
      fault,
      unstored: deployments.unstored(key),
      now,
    })
    const isActive = laterEntries > 0 || rollout?.phase !== 'Inactive' || rolled === undefined
    if (await this.#writeStatus(object, status)) {
      for (const { type, reason, message } of rolloutEvents(object.status, status))
        events.about(object)[type](reason, message)
    } else if (rolled !== undefined && !isActive) await this.#deleteOldRevisions(key, rolled)
    return isActive ? 'Again' : 'Done'
  }

  /** The rollout as it stands after this moment. @throws ApiError, NetworkError */
  async #advanceRollout(key: string, rolled: DeploymentRevisions | undefined, laterEntries: number, now: Date) {
    const { deployments, events } = this.#options
    const fault = deployments.fault(key)
    // How a later release rolls out can't be seen in its entries: what it counts is not this one's to advance.
    if (rolled === undefined || fault !== undefined || laterEntries > 0) return { advanced: undefined, fault }
    const { object, target, history, isRestoring } = rolled
    let input: RolloutInput
    try {
      input = this.#rolloutInput(key, rolled, now)
    } catch (error) {
      return { advanced: undefined, fault: { reason: 'InvalidAnnotation' as const, message: messageOf(error) } }
    }
    const advanced: RolloutStep = advanceRollout(input)
    if (object.spec.rollout.disruptionBudget !== undefined && belongsToRollout(object.status?.rollout, input))
      deployments.admit(key, admittedDevices(input, object.status.rollout))
    if (advanced.goBackTo === undefined) return { advanced, fault }
    const back = buildRestoration(history, advanced.goBackTo, object.metadata.generation ?? target.generation)
    if (back !== undefined && !isRestoring) {
      await deployments.storeRevision(object, back.revision)
      const message = `revision ${target.revision} is taken back: revision ${back.revision.revision} has the workload of ${advanced.goBackTo}`
      events.about(object).warning('RolledBack', message)
    }
    return { advanced, fault }
  }

  /** @throws ControlError */
  #rolloutInput(key: string, { object, target, from, isRestoring }: DeploymentRevisions, now: Date): RolloutInput {
    const { state, devices } = this.#options
    const { metadata, spec, status } = object
    const controls = parseControls(metadata.annotations)
    const { refused } = target
    return {
      spec: spec.rollout,
      id: { uid: metadata.uid, revision: target.revision },
      from,
      isRestoring,
      before: status?.rollout && { ...status.rollout, ...(refused !== undefined && { refused }) },
      members: [...state.matched(key)].map((known) =>
        buildRolloutDevice(known.deployment, known, devices.offlineSince(known.device.name)),
      ),
      controls,
      now,
    }
  }

  /** Deletes revisions that are beyond the history limit and can't be rolled back to. */
  async #deleteOldRevisions(key: string, { object, history, target, from }: DeploymentRevisions): Promise<void> {
    const { state, deployments } = this.#options
    const inUse = new Set([...state.revisionsInUse(key), target.revision, ...(from === undefined ? [] : [from])])
    const kept = selectKeptRevisions(history, object.spec.revisionHistoryLimit, inUse)
    if (kept.length < history.length) await deployments.deleteRevisionsExcept(object, kept)
  }

  async #reconcileDevice(name: string): Promise<'Done'> {
    const { devices, api, clock, metrics } = this.#options
    const requests = await devices.reconcile(api, name, clock.now())
    if (requests > 0) metrics.patches.inc({ kind: 'Device' }, requests)
    return 'Done'
  }

  async #collectKeys(): Promise<void> {
    const { store, clock, log, metrics, brake } = this.#options
    const target = store()
    const now = monotonic(clock)
    if (target === undefined || now < this.#collectAt) return
    try {
      const { collected, spared, held } = await this.#collector.collect(target, clock.now(), now)
      if (collected.length > 0) {
        metrics.orphans.inc(collected.length)
        const keys = collected.slice(0, 10).map(({ key }) => key)
        log.info('keys that nothing needs were deleted', { count: collected.length, spared: spared.length, keys })
      }
      brake(held)
      if (held !== undefined) await this.#warnOfBrake(held)
      // What was spared is needed by what the watch has not told yet.
      this.#collectAt = held === undefined && spared.length === 0 ? now : now + COLLECT_RETRY_INTERVAL_MS
    } catch (error) {
      log.warn('keys that nothing needs could not be deleted', { problem: messageOf(error) })
    }
  }

  async #warnOfBrake({ release, message }: HeldDeletions): Promise<void> {
    const { api, lease, events, log } = this.#options
    const found = await api.get(LEASES, lease.name, lease.namespace)
    if (found !== undefined) events.about(found).warning('OrphansHeld', message)
    if (release !== this.#warnedOf) log.warn(message, { lease: `${lease.namespace}/${lease.name}` })
    this.#warnedOf = release
  }
}
