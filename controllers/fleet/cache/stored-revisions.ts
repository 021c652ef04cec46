/** The ControllerRevisions of all Deployments, as the watch and our own writes show them. FLEET-40, FLEET-48. */

import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Api } from '#operator/client/api.ts'
import { isAlreadyExists } from '#operator/client/errors.ts'
import type { Logger } from '#operator/model/log.ts'
import { keyOf } from '#operator/model/resource.ts'
import {
  buildControllerRevision,
  ControllerRevision,
  type ControllerRevisionObject,
  ownerOfRevision,
  parseRevision,
  RevisionError,
  revisionName,
} from '../rollout/controllerrevision.ts'
import type { Revision } from '../rollout/revisions.ts'

/** Methods that change something give the key of the Deployment whose revisions are others now; undefined for none. */
export class StoredRevisions {
  readonly #api: Pick<Api, 'create' | 'get' | 'delete'>
  readonly #log: Logger
  /** By Deployment, then by name. */
  readonly #objects = new Map<string, Map<string, ControllerRevisionObject>>()
  /** With the uid of the Deployment for which each was read: one of the same name that was made anew has another. */
  readonly #parsed = new WeakMap<
    ControllerRevisionObject,
    { readonly uid: string; readonly parsed: Revision | RevisionError }
  >()

  constructor({ api, log }: { readonly api: Pick<Api, 'create' | 'get' | 'delete'>; readonly log: Logger }) {
    this.#api = api
    this.#log = log
  }

  seen(object: ControllerRevisionObject): string | undefined {
    const key = ownerKey(object)
    if (key === undefined) return undefined
    const known = this.#objects.get(key) ?? new Map<string, ControllerRevisionObject>()
    this.#objects.set(key, known.set(object.metadata.name, object))
    return key
  }

  deleted(object: ControllerRevisionObject): string | undefined {
    const key = ownerKey(object)
    if (key !== undefined) this.#objects.get(key)?.delete(object.metadata.name)
    return key
  }

  /** Those that belong to the Deployment and can be used, in no order. */
  history(owner: Deployment): readonly Revision[] {
    return this.#ofOwner(owner).flatMap((stored) => this.#parse(owner, stored) ?? [])
  }

  /** Stores a revision, unless another replica did. @throws ApiError, NetworkError */
  async create(owner: Deployment, revision: Revision): Promise<string | undefined> {
    try {
      return this.#written(
        await this.#api.create(ControllerRevision, buildControllerRevision(owner.metadata, revision)),
      )
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
      const stored = revisionName(owner.metadata, revision.revision)
      const found = await this.#api.get(ControllerRevision, stored, owner.metadata.namespace)
      if (found === undefined) return undefined
      if (this.#parse(owner, found) === undefined)
        throw new Error(`the ControllerRevision ${stored} is in the way and can't be used: delete it`)
      return this.#written(found)
    }
  }

  /** Deletes the revisions that are not among these. @throws ApiError, NetworkError */
  async deleteExcept(owner: Deployment, kept: readonly Revision[]): Promise<string | undefined> {
    const { name, namespace, uid } = owner.metadata
    const names = new Set(kept.map(({ revision }) => revisionName({ name, uid }, revision)))
    let changed: string | undefined
    for (const stored of this.#ofOwner(owner)) {
      if (names.has(stored.metadata.name) || this.#parse(owner, stored) === undefined) continue
      await this.#api.delete(ControllerRevision, stored.metadata.name, namespace)
      changed = this.deleted(stored)
    }
    return changed
  }

  /** As an answer has it: what the watch has shown of it is as new, or newer. */
  #written(object: ControllerRevisionObject): string | undefined {
    const known = this.#objects.get(ownerKey(object) ?? '')
    return known?.has(object.metadata.name) === true ? undefined : this.seen(object)
  }

  #ofOwner({ metadata }: Deployment): readonly ControllerRevisionObject[] {
    return [...(this.#objects.get(keyOf(metadata))?.values() ?? [])]
  }

  /** Undefined for what belongs to another Deployment, or can't be used. */
  #parse({ metadata }: Deployment, stored: ControllerRevisionObject): Revision | undefined {
    const { uid } = metadata
    const known = this.#parsed.get(stored)
    if (known?.uid === uid) return known.parsed instanceof RevisionError ? undefined : known.parsed
    try {
      const parsed = parseRevision(metadata, stored)
      if (parsed !== undefined) this.#parsed.set(stored, { uid, parsed })
      return parsed
    } catch (error) {
      if (!(error instanceof RevisionError)) throw error
      this.#parsed.set(stored, { uid, parsed: error })
      this.#log.warn(`fleet: ${error.message}`, { deployment: keyOf(metadata) })
      return undefined
    }
  }
}

const ownerKey = (object: ControllerRevisionObject): string | undefined => ownerOfRevision(object).map(keyOf)[0]
