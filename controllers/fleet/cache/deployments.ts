/**
 * Deployments with their revisions, as every replica sees them. Each change updates what FleetState knows of the Deployment:
 *
 *   Deployments ─────────┐
 *   ControllerRevisions ─┴─► refresh ─► its view: target, history, admitted devices
 *
 * A workload is rolled out once its revision is stored, which `storeNext` does. If two replicas store one, the API server decides.
 * FLEET-26, FLEET-48.
 */

import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { Api } from '#operator/client/api.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { keyOf } from '#operator/model/resource.ts'
import { isLater } from '#operator/model/resource-version.ts'
import { parseControls } from '../rollout/annotations.ts'
import type { ControllerRevisionObject } from '../rollout/controllerrevision.ts'
import { findOrBuildRevision, newestRevision, type Revision } from '../rollout/revisions.ts'
import { isOpen, planRollout } from '../rollout/rollout-plan.ts'
import type { FleetState } from '../state/fleet-state.ts'
import { deploymentView } from '../state/views.ts'
import { explainFault, type SpecFault } from './spec-fault.ts'
import { StoredRevisions } from './stored-revisions.ts'

/** What is rolled out of a Deployment. */
export interface DeploymentRevisions {
  readonly object: Deployment
  readonly history: readonly Revision[]
  readonly target: Revision
  /** The revision before it, or the one whose workload it brings again; undefined for the first one. */
  readonly from: number | undefined
  /** It takes the revision before it back. */
  readonly isRestoring: boolean
}

export interface DeploymentCacheOptions {
  readonly state: FleetState
  readonly api: Pick<Api, 'create' | 'get' | 'delete'>
  readonly clock: Clock
  readonly log: Logger
}

export class DeploymentCache {
  readonly #options: DeploymentCacheOptions
  readonly #objects = new Map<string, Deployment>()
  readonly #stored: StoredRevisions
  readonly #faults = new Map<string, SpecFault>()
  readonly #admittedByLeader = new Map<string, ReadonlySet<string>>()
  /** Why the next revision could not be stored, until it is stored or not needed any more. */
  readonly #storeProblems = new Map<string, string>()
  /** Those that were looked at since the last call. */
  readonly #changed = new Set<string>()
  /** Those of which it is known that a person deleted them, by uid. */
  readonly #deletedByPerson = new Map<string, string>()
  /** Those of which it is known that they go with their namespace, by uid. */
  readonly #goingWithNamespace = new Map<string, string>()
  /** What the view of a Deployment was made of: the same again changes nothing. */
  readonly #lastViews = new Map<string, string>()

  constructor(options: DeploymentCacheOptions) {
    this.#options = options
    this.#stored = new StoredRevisions(options)
  }

  /** As the watch shows it. Its revisions that are there were shown before. */
  seen(object: Deployment): void {
    const key = keyOf(object.metadata)
    if (this.#objects.get(key)?.metadata.uid !== object.metadata.uid) this.#forget(key)
    // Its deletion is undone when etcd was restored from before it; the next one may be of another kind.
    if (object.metadata.deletionTimestamp === undefined) this.#forgetDeletion(key)
    this.#objects.set(key, object)
    this.#refresh(key)
  }

  /** As our own write left it, unless the watch has told of what came after. */
  written(object: Deployment): void {
    if (isLater(object, this.#objects.get(keyOf(object.metadata)))) this.seen(object)
  }

  deleted(object: Deployment): void {
    const key = keyOf(object.metadata)
    // Only what is known of its deletion counts: that its finalizer is taken off by force asks for no program to be stopped.
    const deletedUid = this.#deletedByPerson.get(key)
    this.#forget(key)
    this.#objects.delete(key)
    this.#options.state.deploymentDeleted(key, deletedUid)
  }

  /** A person deleted it, and not the namespace that it is in. FLEET-77. */
  deletedByPerson(key: string): void {
    const { uid, deletionTimestamp } = this.#objects.get(key)?.metadata ?? {}
    if (deletionTimestamp === undefined || uid === undefined || this.isDeletedByPerson(key)) return
    this.#deletedByPerson.set(key, uid)
    this.#lastViews.delete(key)
    this.#refresh(key)
  }

  isDeletedByPerson(key: string): boolean {
    const uid = this.#objects.get(key)?.metadata.uid
    return uid !== undefined && this.#deletedByPerson.get(key) === uid
  }

  /** It was deleted with its namespace: no person named it. FLEET-77. */
  goesWithNamespace(key: string): void {
    const uid = this.#objects.get(key)?.metadata.uid
    if (uid !== undefined) this.#goingWithNamespace.set(key, uid)
  }

  /** It is being deleted, and it is not known yet whether a person named it. */
  isDeletionUnexplained(key: string): boolean {
    const { uid, deletionTimestamp } = this.#objects.get(key)?.metadata ?? {}
    return deletionTimestamp !== undefined && !this.isDeletedByPerson(key) && this.#goingWithNamespace.get(key) !== uid
  }

  revisionSeen(object: ControllerRevisionObject): void {
    this.#refreshOwner(this.#stored.seen(object))
  }

  revisionDeleted(object: ControllerRevisionObject): void {
    this.#refreshOwner(this.#stored.deleted(object))
  }

  keys(): Iterable<string> {
    return this.#objects.keys()
  }

  object(key: string): Deployment | undefined {
    return this.#objects.get(key)
  }

  fault(key: string): SpecFault | undefined {
    return this.#faults.get(key)
  }

  /** What keeps the workload from being a revision, for people; undefined when it is one. FLEET-70. */
  unstored(key: string): string | undefined {
    return this.#storeProblems.get(key)
  }

  /** What the spec asks for and no revision has yet; undefined when one has, or when its annotations can't be meant. */
  nextRevision(key: string): Revision | undefined {
    const object = this.#objects.get(key)
    if (object === undefined || this.#faults.get(key)?.reason === 'InvalidAnnotation') return undefined
    const { metadata, spec } = object
    const generation = metadata.generation ?? 1
    const { target, history = [] } = this.#revisionsOf(object) ?? {}
    // Another replica has seen a later spec than this one: it is not this one's to go back to an earlier one.
    if (metadata.deletionTimestamp !== undefined || (target?.generation ?? 0) > generation) return undefined
    const { revision, isNew } = findOrBuildRevision(
      history,
      { generation, score: spec.score },
      target?.refused,
      parseControls(metadata.annotations).overruledRevision,
    )
    return isNew ? revision : undefined
  }

  /** Stores what the spec asks for when it is no revision yet. @returns false when that failed: `unstored` says why */
  async storeNext(key: string): Promise<boolean> {
    const object = this.#objects.get(key)
    const next = this.nextRevision(key)
    try {
      if (object !== undefined && next !== undefined) await this.storeRevision(object, next)
      this.#storeProblems.delete(key)
      return true
    } catch (error) {
      const problem = messageOf(error)
      this.#storeProblems.set(key, `its revision can't be stored, it is tried again: ${problem}`)
      this.#options.log.warn('fleet: a revision could not be stored, trying again', { deployment: key, problem })
      return false
    }
  }

  /** Its windows may have opened or closed. @returns whether it has any */
  recheckWindows(key: string): boolean {
    if (this.#objects.get(key)?.spec.rollout.windows === undefined) return false
    this.#refresh(key)
    return true
  }

  /** The Deployments of which something may be different since the last call. */
  takeChanged(): string[] {
    const keys = [...this.#changed]
    this.#changed.clear()
    return keys
  }

  /** Undefined while no revision of it is stored. */
  revisions(key: string): DeploymentRevisions | undefined {
    const object = this.#objects.get(key)
    return object === undefined ? undefined : this.#revisionsOf(object)
  }

  /** The devices that have a place in the disruption budget now, as the leader found. */
  admit(key: string, devices: ReadonlySet<string>): void {
    this.#admittedByLeader.set(key, devices)
    this.#refresh(key)
  }

  /** This replica does not lead any more: the new leader gives out the places. */
  stopLeading(): void {
    this.#admittedByLeader.clear()
    for (const key of this.#objects.keys()) this.#refresh(key)
  }

  /** Stores a revision, unless another replica did; afterwards it is what is rolled out. @throws ApiError, NetworkError */
  async storeRevision(object: Deployment, revision: Revision): Promise<void> {
    this.#refreshOwner(await this.#stored.create(object, revision))
  }

  /** Deletes the revisions that are not among these. @throws ApiError, NetworkError */
  async deleteRevisionsExcept(object: Deployment, kept: readonly Revision[]): Promise<void> {
    this.#refreshOwner(await this.#stored.deleteExcept(object, kept))
  }

  #forget(key: string): void {
    this.#faults.delete(key)
    this.#storeProblems.delete(key)
    this.#admittedByLeader.delete(key)
    this.#lastViews.delete(key)
    this.#forgetDeletion(key)
  }

  #forgetDeletion(key: string): void {
    this.#deletedByPerson.delete(key)
    this.#goingWithNamespace.delete(key)
  }

  #revisionsOf(object: Deployment): DeploymentRevisions | undefined {
    const history = this.#stored.history(object)
    const target = newestRevision(history)
    if (target === undefined) return undefined
    const isRestoring = target.refused !== undefined
    // A device that has nothing yet never gets what was refused. FLEET-75.
    const before = newestRevision(
      history.filter(
        ({ revision, digest }) => revision < target.revision && (!isRestoring || digest === target.digest),
      ),
    )
    const rollout = object.status?.rollout
    return {
      object,
      history,
      target,
      from: rollout?.revision === target.revision ? rollout.from : before?.revision,
      isRestoring,
    }
  }

  #refreshOwner(key: string | undefined): void {
    if (key !== undefined) this.#refresh(key)
  }

  /** What follows from a Deployment and its revisions, as they are now. */
  #refresh(key: string): void {
    const object = this.#objects.get(key)
    if (object === undefined) return
    this.#changed.add(key)
    const { state } = this.#options
    const isDeleting = object.metadata.deletionTimestamp !== undefined
    try {
      if (!isDeleting) parseControls(object.metadata.annotations)
      const rolled = this.#revisionsOf(object)
      if (rolled !== undefined) this.#updateState(key, rolled)
      else if (isDeleting) state.deploymentDeleted(key, this.#deletedByPerson.get(key))
      this.#faults.delete(key)
    } catch (error) {
      this.#faults.set(key, explainFault(error))
      // Its keys go, however it is written: else it could never be deleted.
      if (isDeleting) state.deploymentDeleted(key, this.#deletedByPerson.get(key))
    }
  }

  /** @throws what `deploymentView` throws */
  #updateState(key: string, { object, history, target, from, isRestoring }: DeploymentRevisions): void {
    const admitted = this.#admittedByLeader.get(key) ?? new Set()
    const rollout = { spec: object.spec.rollout, isRestoring }
    const open = isOpen(rollout, this.#options.clock.now())
    const { metadata, status } = object
    const { uid, generation, deletionTimestamp, annotations } = metadata
    const stored = status?.rollout
    const numbers = history.map(({ revision }) => revision)
    const view = JSON.stringify([uid, generation, deletionTimestamp, annotations, stored, numbers, open, [...admitted]])
    if (this.#lastViews.get(key) === view) return
    const id = { uid, revision: target.revision }
    const plan = planRollout({ ...rollout, id, from, stored, admitted, isOpen: open })
    const isDeletedByPerson = this.isDeletedByPerson(key)
    this.#options.state.deploymentSeen({ ...deploymentView(object, target, history, plan), isDeletedByPerson })
    this.#lastViews.set(key, view)
  }
}
