/** Applies objects that other tasks may have too: ADAPTER-88, ADAPTER-112, ADAPTER-122. */
import { once } from '#lib/once.ts'
import { ApiError, isConflict, isForbidden, isNotFound } from '#operator/client/errors.ts'
import type { Resource } from '#operator/model/resource.ts'
import type { OtherHolders } from '../inventory/other-holders.ts'
import { asShared, describeObject, INVENTORY_ANNOTATION, metadataOf, withUid } from '../run/resources/object.ts'
import { TaskError } from '../run/task-error.ts'
import type { JsonObject } from '../task/task.ts'
import { differing } from './explain-kubernetes-errors.ts'
import { isReplaced } from './kubernetes-answers.ts'
import type { ServerSideApply } from './server-side-apply.ts'
import { type AppliedField, conflictingFields, isOwnership, managersOf } from './shared-objects.ts'
import type { Target } from './transport.ts'

export interface SharedApplyOptions {
  readonly adapter: string
  readonly others?: Pick<OtherHolders, 'find' | 'findAtWork' | 'findElsewhere' | 'isOwn' | 'noteShared'>
  readonly server: ServerSideApply
  /** @throws ApiError, also when it is not there */
  get(resource: Resource, name: string, namespace: string | undefined, signal: AbortSignal): Promise<JsonObject>
}

export interface Patched {
  readonly object: JsonObject
  /** Another task is the first: whatever labels are on the object, which any writer may have put there. */
  readonly isBeside: boolean
}

export class SharedApply {
  readonly #options: SharedApplyOptions
  /** The resourceVersion at which fields of the task were refused last, by uid of an object that it does not have. */
  readonly #refused = new Map<string, string>()

  constructor(options: SharedApplyOptions) {
    this.#options = options
  }

  /**
   * The fields of the manifest are the task's by its declaration: drift is put right, and others' fields are not in it. Only what another
   * task holds is not taken from it: that one would take it back, for ever. ADAPTER-88, ADAPTER-97, ADAPTER-112.
   */
  async patch(resource: Resource, { manifest, recordedUid, share }: Target, signal: AbortSignal): Promise<Patched> {
    const { adapter, others, server } = this.#options
    const patch = async (body: JsonObject, force: boolean, isBeside = false): Promise<Patched> => ({
      object: await server.patch(resource, body, force, signal),
      isBeside,
    })
    try {
      return await patch(manifest, false)
    } catch (error) {
      if (!isConflict(error) || isReplaced(error)) throw error
      const read = once(() => this.#readObject(resource, manifest, signal))
      const fields = conflictingFields(error)
      const object = recordedUid === undefined && others !== undefined ? await read() : undefined
      const isNew = object !== undefined && others?.isOwn(object) === false
      const elsewhere = await others?.findElsewhere(manifest, managersIn(fields), read, signal, {
        isNew,
        mayLag: isNew,
      })
      if (elsewhere !== undefined) {
        const what = `${describeObject(manifest)} can't be applied: ${elsewhere.description}`
        throw new TaskError('ApplyFailed', what, { cause: error })
      }
      const findHolder = (of: readonly AppliedField[]) => others?.find(manifest, managersIn(of), read, signal)
      // Also where the answer was lost: the others may wait for this one.
      const has = recordedUid !== undefined || (object !== undefined && (!isNew || markOf(object) === markOf(manifest)))
      // Any writer may have overwritten what says whose the object is: a task that is not the first for sure asks the inventories.
      const asked = recordedUid !== undefined && share !== 'Beside' ? undefined : await read()
      const first =
        (asked && (await others?.findAtWork(asked, signal, !has))) ?? (await findHolder(fields.filter(isOwnership)))
      if (first === undefined) {
        // The first of the tasks that have it changes what they share, as for a new generation; the others follow it. Where none of them
        // is the first any more, the one that comes next is: they would wait for each other. ADAPTER-125
        const holder = has ? undefined : await findHolder(fields)
        if (holder !== undefined) throw differing(manifest, holder, error)
        return patch(manifest, true)
      }
      // What is applied beside another one has no mark, so it makes no object: nothing would show whose that is.
      const shared = asShared(withUid(manifest, recordedUid ?? metadataOf(asked ?? {}).uid), adapter)
      return await patch(shared, false, true).catch(async (conflict) => {
        if (!(conflict instanceof ApiError)) throw conflict
        if (isReplaced(conflict) && recordedUid === undefined) return patch(manifest, false)
        if (!isConflict(conflict) || isReplaced(conflict)) throw conflict
        // What another writer has taken from the first one, that one puts right, or a task that was refused would get it: it has the time until the next run.
        const waits = object !== undefined && isNew && this.#mayChange(object)
        const holder = (await findHolder(conflictingFields(conflict))) ?? (waits ? first : undefined)
        if (holder !== undefined) throw differing(manifest, holder, conflict)
        return patch(shared, true, true)
      })
    }
  }

  /** Since the run before, whose fields were refused in this state of the object, no other task has put any right. */
  #mayChange(object: JsonObject): boolean {
    const { uid = '', resourceVersion = '' } = metadataOf(object)
    const isSame = this.#refused.get(uid) === resourceVersion
    if (isSame) this.#refused.delete(uid)
    else this.#refused.set(uid, resourceVersion)
    return !isSame
  }

  /**
   * Of an object that the task has not had and that was there, other tasks are told by their inventories that this one has it too: any writer may have taken off
   * it what would have led to a conflict. @returns whether another one has it. @throws TaskError when that one is of another namespace. ADAPTER-112, ADAPTER-122
   */
  async join(resource: Resource, applied: JsonObject, { recordedUid }: Target, signal: AbortSignal): Promise<boolean> {
    const { others, server } = this.#options
    if (others === undefined || recordedUid !== undefined || others.isOwn(applied)) return false
    const isNew = !server.wasCreated(applied)
    const elsewhere = await others.findElsewhere(applied, managersOf(applied), async () => applied, signal, { isNew })
    if (elsewhere === undefined) return isNew && (await others.noteShared(applied, signal))
    await server.leave(resource, applied, signal)
    throw new TaskError('ApplyFailed', `${describeObject(applied)} can't be applied: ${elsewhere.description}`)
  }

  /** Undefined when it is not there, or may not be read. */
  async #readObject(resource: Resource, manifest: JsonObject, signal: AbortSignal): Promise<JsonObject | undefined> {
    const { name = '', namespace } = metadataOf(manifest)
    try {
      return await this.#options.get(resource, name, namespace, signal)
    } catch (error) {
      if (isNotFound(error) || isForbidden(error)) return undefined
      throw error
    }
  }
}

const markOf = (object: JsonObject): string | undefined => metadataOf(object).annotations?.[INVENTORY_ANNOTATION]

const managersIn = (fields: readonly AppliedField[]): readonly string[] => [
  ...new Set(fields.map(({ manager }) => manager)),
]
