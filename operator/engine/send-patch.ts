import { equal } from '#lib/json/diff.ts'
import { type Json, mergePatches, patchBetween, prune } from '#lib/json/merge-patch.ts'
import type { Api } from '../client/api.ts'
import { ApiError } from '../client/errors.ts'
import type { KubeObject, Resource } from '../model/resource.ts'
import type { Writable } from './context.ts'
import { isEmpty, type PatchRecord } from './patch.ts'

/** How often an edit is made again on a newer object before the queue's backoff takes over. RUNTIME-20. */
const MAX_CONFLICT_RETRIES = 5

export interface SentPatch<O extends KubeObject> {
  /** The object is no longer there, or another one has its name: nothing left to write. */
  readonly gone: boolean
  /** As the API server answered last; undefined when it was not asked. */
  readonly object: O | undefined
  /** resourceVersions that our writes were answered with, in order. */
  readonly revisions: readonly string[]
  /**
   * Another writer has changed the declared state since `object`. An answer may then have their resourceVersion: the API
   * server gives it to a write that changes nothing, and a watch that begins anew shows both changes as one.
   */
  readonly overtaken: boolean
}

/**
 * Sends what was recorded: `/status` first, so that an object that says "handled" never lacks the status of it; then the
 * object. Nothing is sent when nothing differs from `object`. RUNTIME-18.
 * @param isComplete false when `object` is a projection of what the API server has
 * @throws ApiError when the API server refuses what was recorded, NetworkError
 */
export const sendPatch = async <O extends KubeObject>(
  api: Api,
  resource: Resource<O>,
  object: O,
  record: PatchRecord<O>,
  isComplete = true,
): Promise<SentPatch<O>> => {
  if (record.empty) return { gone: false, object: undefined, revisions: [], overtaken: false }
  const { name, namespace, uid, generation } = object.metadata
  const hasStatusSubresource = resource.subresources.includes('status')
  const revisions: string[] = []
  let overtaken = false

  const send = async (body: Json, subresource?: 'status'): Promise<O> => {
    const answer = await api.patch(resource, { name, namespace, subresource, type: 'merge', body })
    revisions.push(answer.metadata.resourceVersion)
    return answer
  }

  for (let base = object, conflicts = 0; ; conflicts += 1) {
    try {
      let latest: O | undefined
      let changes = changesOf(base, record)
      if (hasStatusSubresource) {
        const status = statusBody(changes, base, isComplete)
        if (status !== undefined) {
          latest = await send(status, 'status')
          // A status makes no generation.
          overtaken ||= generation !== undefined && latest.metadata.generation !== generation
          // The guard is the newest resourceVersion, so the edits must be made on the state that it stands for.
          changes = changesOf(latest, record)
        }
        delete changes.status
      }
      const body = objectBody(changes, latest ?? base, record, isComplete)
      if (body !== undefined) latest = await send(body)
      return { gone: false, object: latest ?? (base === object ? undefined : base), revisions, overtaken }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (isGone(error)) return { gone: true, object: undefined, revisions, overtaken }
      if (error.status !== 409 && error.status !== 422) throw error
      const fresh = await api.get(resource, name, namespace)
      if (fresh === undefined || fresh.metadata.uid !== uid)
        return { gone: true, object: undefined, revisions, overtaken }
      if (error.status === 422 || conflicts >= MAX_CONFLICT_RETRIES) throw error
      base = fresh
    }
  }
}

type Changes = Json & { status?: Json; metadata?: { readonly finalizers?: readonly string[] | null } }

/** Everything recorded as one merge patch of `base`. */
const changesOf = <O extends KubeObject>(base: O, record: PatchRecord<O>): Changes => {
  const changes: Changes = {}
  mergePatches(changes, record.body)
  if (!isEmpty(record.statusBody)) mergePatches(changes, { status: record.statusBody })
  if (record.edits.length > 0) {
    const draft = structuredClone(base) as Writable<O>
    for (const edit of record.edits) edit(draft)
    mergePatches(changes, patchBetween(base as unknown as Json, draft as unknown as Json) ?? {})
  }
  if (record.finalizerEdits.length > 0) {
    // Handlers may have changed the list as well; null is how a patch says that they emptied it.
    const edited = changes.metadata?.finalizers
    const before = (edited === undefined ? base.metadata.finalizers : edited) ?? []
    const after = record.finalizerEdits.reduce((list, edit) => edit(list, base), before)
    if (!equal(before, after)) mergePatches(changes, { metadata: { finalizers: after } })
  }
  return changes
}

/**
 * Undefined when the status stays as it is, and when the object goes with this write: then its status no longer matters.
 * Guard: `/status` of a custom resource takes whatever uid a patch has, so only the resourceVersion tells another object
 * of the same name. RUNTIME-19.
 */
const statusBody = <O extends KubeObject>(changes: Changes, base: O, isComplete: boolean): Json | undefined => {
  if (changes.status === undefined || takesLastFinalizer(base, changes)) return undefined
  const status = prune(changes.status, base.status, isComplete)
  return status && { metadata: { resourceVersion: base.metadata.resourceVersion }, status }
}

/** Guards: never another object of the same name, and never an older state when an edit depended on what was there. */
const objectBody = <O extends KubeObject>(
  changes: Changes,
  base: O,
  record: PatchRecord<O>,
  isComplete: boolean,
): Json | undefined => {
  const body = prune(changes, base, isComplete)
  if (body === undefined) return undefined
  const { uid, resourceVersion } = base.metadata
  const edited = record.edits.length > 0 || record.finalizerEdits.length > 0
  mergePatches(body, { metadata: edited ? { uid, resourceVersion } : { uid } })
  return body
}

const takesLastFinalizer = (base: KubeObject, { metadata }: Changes): boolean =>
  base.metadata.deletionTimestamp !== undefined && metadata?.finalizers !== undefined && !metadata.finalizers?.length

/** 404 of the object, not of a kind or subresource that the API server doesn't know. */
const isGone = (error: ApiError): boolean => error.status === 404 && error.details.name !== undefined
