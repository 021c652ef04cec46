/**
 * The Deployments with their revisions, as every replica sees them, and what FleetState is told of each:
 *
 *   Deployments ─────────┐                       ┌─► a new workload is stored as the next revision
 *   ControllerRevisions ─┴─► look at a Deployment ┴─► its view: target, history, who may have it
 *
 * A workload is rolled out only once its revision is stored. Whoever comes first stores it: the API server decides between two.
 */

import { digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Api } from '#operator/client/api.ts'
import { isAlreadyExists, messageOf } from '#operator/client/errors.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { keyOf } from '#operator/model/resource.ts'
import { isLater } from '#operator/model/resource-version.ts'
import { SelectorError } from '#operator/model/selector.ts'
import { ControlError, controlsIn } from '../rollout/annotations.ts'
import {
  ControllerRevision,
  type ControllerRevisionObject,
  REVISION_LABEL,
  RevisionError,
  revisionIn,
  revisionName,
  revisionObject,
} from '../rollout/controllerrevision.ts'
import { WindowError } from '../rollout/maintenance-windows.ts'
import { newest, type Revision, revisionFor } from '../rollout/revisions.ts'
import { courseOf, isOpen } from '../rollout/rollout-plan.ts'
import { ExpressionError } from '../selection/expression.ts'
import type { FleetState } from '../state/fleet-state.ts'
import { deploymentView } from '../state/views.ts'
import { WorkloadError } from '../workload/rendering.ts'

/** Why a Deployment can't be worked on as it is written. */
export interface Fault {
  readonly reason: 'InvalidSpec' | 'TooLarge' | 'InvalidAnnotation'
  readonly message: string
}

/** What is rolled out of a Deployment. */
export interface Rolled {
  readonly object: Deployment
  readonly history: readonly Revision[]
  readonly target: Revision
  /** The revision before it; undefined for the first one. */
  readonly from: number | undefined
  readonly isRestoring: boolean
}

export interface DeploymentsOptions {
  readonly state: FleetState
  readonly api: Api
  readonly clock: Clock
  readonly log: Logger
}

export class Deployments {
  readonly #options: DeploymentsOptions
  readonly #objects = new Map<string, Deployment>()
  /** By Deployment, then by name. */
  readonly #revisions = new Map<string, Map<string, ControllerRevisionObject>>()
  readonly #faults = new Map<string, Fault>()
  readonly #slots = new Map<string, ReadonlySet<string>>()
  readonly #storing = new Map<string, Promise<void>>()
  /** Those whose next revision could not be stored. */
  readonly #unstored = new Set<string>()
  /** With the uid of the Deployment for which each was read: one of the same name that was made anew has another. */
  readonly #readings = new WeakMap<
    ControllerRevisionObject,
    { readonly uid: string; readonly read: Revision | RevisionError }
  >()
  /** Those that were looked at since somebody asked. */
  readonly #changed = new Set<string>()
  /** What the view of a Deployment was made of: the same again changes nothing. */
  readonly #made = new Map<string, string>()
  #isRead = false

  constructor(options: DeploymentsOptions) {
    this.#options = options
  }

  /** Both kinds were read to the end: what is not there does not exist. */
  read(): void {
    this.#isRead = true
    for (const key of this.#objects.keys()) this.#look(key)
  }

  /** As the watch shows it. */
  seen(object: Deployment): void {
    const key = keyOf(object.metadata)
    if (this.#objects.get(key)?.metadata.uid !== object.metadata.uid) this.#forget(key)
    this.#objects.set(key, object)
    this.#look(key)
  }

  /** As our own write left it, unless the watch has told of what came after. */
  written(object: Deployment): void {
    if (isLater(object, this.#objects.get(keyOf(object.metadata)))) this.seen(object)
  }

  gone(object: Deployment): void {
    const key = keyOf(object.metadata)
    this.#forget(key)
    this.#objects.delete(key)
    this.#options.state.deploymentGone(key)
  }

  revisionSeen(object: ControllerRevisionObject): void {
    const key = ownerKey(object)
    if (key === undefined) return
    const known = this.#revisions.get(key) ?? new Map<string, ControllerRevisionObject>()
    this.#revisions.set(key, known.set(object.metadata.name, object))
    this.#look(key)
  }

  revisionGone(object: ControllerRevisionObject): void {
    const key = ownerKey(object)
    if (key === undefined) return
    this.#revisions.get(key)?.delete(object.metadata.name)
    this.#look(key)
  }

  keys(): Iterable<string> {
    return this.#objects.keys()
  }

  object(key: string): Deployment | undefined {
    return this.#objects.get(key)
  }

  fault(key: string): Fault | undefined {
    return this.#faults.get(key)
  }

  /** The Deployments of which something may be different since the last call. */
  changed(): string[] {
    const keys = [...this.#changed]
    this.#changed.clear()
    return keys
  }

  /** Undefined while no revision of it is stored. */
  rolled(key: string): Rolled | undefined {
    const object = this.#objects.get(key)
    return object === undefined ? undefined : this.#rolled(object)
  }

  /** Who has a place in the disruption budget now, as the leader found. */
  admit(key: string, devices: ReadonlySet<string>): void {
    this.#slots.set(key, devices)
    this.#look(key)
  }

  /** It does not lead any more: others say now who has a place. */
  withdraw(): void {
    this.#slots.clear()
    for (const key of this.#objects.keys()) this.#look(key)
  }

  /** Stores a revision, unless somebody else did; afterwards it is what is rolled out. @throws ApiError, NetworkError */
  async store(object: Deployment, revision: Revision): Promise<void> {
    const { api } = this.#options
    try {
      this.#revisionWritten(await api.create(ControllerRevision, revisionObject(object.metadata, revision)))
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
      const taken = revisionName(object.metadata, revision.revision)
      const found = await api.get(ControllerRevision, taken, object.metadata.namespace)
      if (found !== undefined && this.#read(object, found) === undefined)
        throw new Error(`the ControllerRevision ${taken} is in the way and can't be used: delete it`)
      if (found !== undefined) this.#revisionWritten(found)
    }
  }

  /** Deletes the revisions that are not among these. @throws ApiError, NetworkError */
  async keepOnly(object: Deployment, kept: readonly Revision[]): Promise<void> {
    const { name, namespace, uid } = object.metadata
    const names = new Set(kept.map(({ revision }) => revisionName({ name, uid }, revision)))
    for (const stored of this.#revisions.get(keyOf(object.metadata))?.values() ?? []) {
      if (names.has(stored.metadata.name) || this.#read(object, stored) === undefined) continue
      await this.#options.api.delete(ControllerRevision, stored.metadata.name, namespace)
      this.revisionGone(stored)
    }
  }

  /** What time alone changes: revisions that could not be stored are tried again, windows open and close. */
  again(): void {
    const keys = [...this.#unstored]
    this.#unstored.clear()
    for (const key of keys) this.#look(key)
    for (const [key, { spec }] of this.#objects) if (spec.rollout.windows !== undefined) this.#look(key)
  }

  /** Resolves when nothing is being stored. */
  async settled(): Promise<void> {
    await Promise.all(this.#storing.values())
  }

  /** As an answer has it: what the watch has shown of it is as new, or newer. */
  #revisionWritten(object: ControllerRevisionObject): void {
    const known = this.#revisions.get(ownerKey(object) ?? '')
    if (known?.has(object.metadata.name) !== true) this.revisionSeen(object)
  }

  #forget(key: string): void {
    this.#faults.delete(key)
    this.#slots.delete(key)
    this.#made.delete(key)
  }

  /** Undefined for what belongs to another Deployment, or can't be used. */
  #read({ metadata }: Deployment, stored: ControllerRevisionObject): Revision | undefined {
    const { uid } = metadata
    const known = this.#readings.get(stored)
    if (known?.uid === uid) return known.read instanceof RevisionError ? undefined : known.read
    try {
      const read = revisionIn(metadata, stored)
      if (read !== undefined) this.#readings.set(stored, { uid, read })
      return read
    } catch (error) {
      if (!(error instanceof RevisionError)) throw error
      this.#readings.set(stored, { uid, read: error })
      this.#options.log.warn(error.message, { deployment: keyOf(metadata) })
      return undefined
    }
  }

  #rolled(object: Deployment): Rolled | undefined {
    const key = keyOf(object.metadata)
    const stored = [...(this.#revisions.get(key)?.values() ?? [])]
    const history = stored.flatMap((revision) => this.#read(object, revision) ?? [])
    const target = newest(history)
    if (target === undefined) return undefined
    const before = newest(history.filter(({ revision }) => revision < target.revision))
    const rollout = object.status?.rollout
    return {
      object,
      history,
      target,
      from: rollout?.revision === target.revision ? rollout.from : before?.revision,
      isRestoring: target.refused !== undefined && target.refused === digestOf(object.spec.score),
    }
  }

  /** What follows from a Deployment and its revisions, as they are now. */
  #look(key: string): void {
    const object = this.#objects.get(key)
    if (!this.#isRead || object === undefined) return
    this.#changed.add(key)
    const { state } = this.#options
    const isDeleting = object.metadata.deletionTimestamp !== undefined
    try {
      const rolled = this.#rolled(object)
      this.#storeNext(key, object, rolled)
      if (rolled !== undefined) this.#show(key, rolled)
      else if (isDeleting) state.deploymentGone(key)
      this.#faults.delete(key)
    } catch (error) {
      this.#faults.set(key, faultOf(error))
      // Its keys go, however it is written: else it could never be deleted.
      if (isDeleting) state.deploymentGone(key)
    }
  }

  /** @throws what `deploymentView` throws */
  #show(key: string, { object, history, target, from, isRestoring }: Rolled): void {
    const slots = this.#slots.get(key) ?? new Set()
    const rollout = { spec: object.spec.rollout, isRestoring }
    const open = isOpen(rollout, this.#options.clock.now())
    const { metadata, status } = object
    const { uid, generation, deletionTimestamp, annotations } = metadata
    const stored = status?.rollout
    const numbers = history.map(({ revision }) => revision)
    const made = JSON.stringify([uid, generation, deletionTimestamp, annotations, stored, numbers, open, [...slots]])
    if (this.#made.get(key) === made) return
    const id = { uid, revision: target.revision }
    const course = courseOf({ ...rollout, id, from, stored, slots, isOpen: open })
    this.#options.state.deploymentSeen(deploymentView(object, target, history, course))
    this.#made.set(key, made)
  }

  /** Stores what the spec asks for when it is no revision yet. @throws ControlError */
  #storeNext(key: string, object: Deployment, rolled: Rolled | undefined): void {
    const { metadata, spec } = object
    const generation = metadata.generation ?? 1
    const { target, history = [] } = rolled ?? {}
    // Another replica has seen a later spec than this one: it is not this one's to go back to an earlier one.
    if (metadata.deletionTimestamp !== undefined || (target?.generation ?? 0) > generation) return
    const { revision, isNew } = revisionFor(
      history,
      { generation, score: spec.score },
      target?.refused,
      controlsIn(metadata.annotations).overruledRevision,
    )
    if (!isNew || this.#storing.has(key)) return
    const storing = this.store(object, revision)
      .catch((error: unknown) => {
        this.#unstored.add(key)
        this.#options.log.warn('a revision could not be stored', { deployment: key, problem: messageOf(error) })
      })
      .finally(() => this.#storing.delete(key))
      .then(() => {
        if (!this.#unstored.has(key)) this.#look(key)
      })
    this.#storing.set(key, storing)
  }
}

const ownerKey = ({ metadata }: ControllerRevisionObject): string | undefined => {
  const name = metadata.labels?.[REVISION_LABEL]
  return name === undefined || metadata.namespace === undefined
    ? undefined
    : keyOf({ name, namespace: metadata.namespace })
}

const faultOf = (error: unknown): Fault => {
  const until = 'until that is mended, devices keep what they have'
  if (error instanceof ControlError) return { reason: 'InvalidAnnotation', message: error.message }
  if (error instanceof MalformedEntry)
    return { reason: 'TooLarge', message: `${error.message}: make the workload smaller; ${until}` }
  const isKnown = [SelectorError, ExpressionError, WindowError, WorkloadError].some((kind) => error instanceof kind)
  if (isKnown) return { reason: 'InvalidSpec', message: `${messageOf(error)}; ${until}` }
  throw error
}
