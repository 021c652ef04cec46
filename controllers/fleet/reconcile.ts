/**
 * One Deployment, in the replica that leads: a step of its rollout, then its status, at most once a second.
 *
 *   the Deployment, its revisions, what its devices have and say ─► step of the rollout ─► status, events, fewer revisions
 *   NATS is away ─► the status says that its numbers are old; nothing else is done
 *
 * A step counts only once it is stored in the status: what all replicas do then follows from it, and a crash loses nothing. FLEET-23, FLEET-24.
 */

import { digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { Deployment, type DeploymentStatus } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { rollbackStrategy } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { Api } from '#operator/client/api.ts'
import { isConflict, isNotFound } from '#operator/client/errors.ts'
import type { Events } from '#operator/client/events.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { DeploymentCache, DeploymentRevisions } from './cache/deployments.ts'
import type { DeviceCache } from './cache/devices.ts'
import { rolloutEvents } from './leader/rollout-events.ts'
import type { Metrics } from './metrics.ts'
import { admittedDevices, advanceRollout, type RolloutInput, type RolloutStep } from './rollout/advance.ts'
import { parseControls } from './rollout/annotations.ts'
import { buildRolloutDevice } from './rollout/member.ts'
import { buildRestoration, selectKeptRevisions } from './rollout/revisions.ts'
import { belongsToRollout } from './rollout/rollout-plan.ts'
import type { FleetState } from './state/fleet-state.ts'
import type { NatsOutage } from './state/sync-state.ts'
import { buildDeploymentStatus, buildOutdatedStatus } from './status/deployment-status.ts'

export interface ReconcilerOptions {
  readonly state: FleetState
  readonly deployments: DeploymentCache
  readonly devices: DeviceCache
  /** Everything was read, and is followed. */
  isConverged(): boolean
  /** NATS has been away for so long that people are told, and the Deployments are known; else undefined. */
  natsOutage(): NatsOutage | undefined
  /** Its requests end when another replica leads. */
  readonly api: Api
  readonly events: Events
  readonly metrics: Metrics
  readonly clock: Clock
}

/** Of one leader. */
export class DeploymentReconciler {
  readonly #options: ReconcilerOptions

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  /** @returns whether it is to be looked at again although nothing happens @throws ApiError, NetworkError */
  async reconcile(key: string): Promise<'Done' | 'Again'> {
    const { deployments, isConverged } = this.#options
    const object = deployments.object(key)
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return 'Done'
    try {
      if (isConverged()) return (await this.#step(key, object)) ? 'Again' : 'Done'
      // What is to be done for it waits, however short the outage is.
      await this.#markOutdated(object)
      return 'Again'
    } catch (error) {
      // Another program wrote or deleted it: the watch tells, and then it is looked at again.
      if (isConflict(error) || isNotFound(error)) return 'Again'
      throw error
    }
  }

  /** What is shown of a Deployment is old from now on: its status says so, and is brought up to date once NATS is back. */
  async #markOutdated(object: Deployment): Promise<void> {
    const { natsOutage, clock } = this.#options
    const outage = natsOutage()
    if (outage !== undefined) await this.#writeStatus(object, buildOutdatedStatus(object, outage, clock.now()))
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

  /** @returns whether time alone may change it @throws ApiError, NetworkError */
  async #step(key: string, object: Deployment): Promise<boolean> {
    const { state, deployments, events, clock } = this.#options
    const rolled = deployments.revisions(key)
    const now = clock.now()
    const laterEntries = state.countLaterEntries(key)
    const refusedEntries = state.countRefused(key)
    const { advanced, fault } = await this.#advanceRollout(key, rolled, laterEntries, now)
    const rollout = advanced?.status ?? object.status?.rollout
    const status = buildDeploymentStatus({
      object,
      aggregate: state.aggregate(key),
      conflictCounts: state.conflictCounts(key),
      undecided: state.undecided(key),
      revision: rolled?.target.revision,
      rollout,
      isLate: advanced?.isLate ?? false,
      laterEntries,
      refusedEntries,
      fault,
      unstored: deployments.unstored(key),
      now,
    })
    const isActive = laterEntries > 0 || refusedEntries > 0 || rollout?.phase !== 'Inactive' || rolled === undefined
    if (await this.#writeStatus(object, status)) {
      for (const { type, reason, message } of rolloutEvents(object.status, status))
        events.about(object)[type](reason, message)
    } else if (rolled !== undefined && !isActive) await this.#deleteOldRevisions(key, rolled)
    return isActive
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
      const way = rollbackStrategy(object.spec.rollout) === 'Batches' ? 'in batches' : 'to all devices at once'
      const message = `revision ${target.revision} is taken back: revision ${back.revision.revision} has the workload of ${advanced.goBackTo} and comes ${way}`
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
}
