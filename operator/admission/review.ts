import jsonPatch, { type Operation } from 'fast-json-patch'
import { errorOf } from '#lib/errors/error-of.ts'
import { isObject } from '#lib/json/is-object.ts'
import { type Json, mergePatches } from '#lib/json/merge-patch.ts'
import type { AdmissionContext, Writable } from '../engine/context.ts'
import type { AdmissionHandler } from '../engine/definition.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'
import { PermanentError, TemporaryError } from '../model/errors.ts'
import { matches } from '../model/filters.ts'
import type { Logger } from '../model/log.ts'
import type { KubeObject } from '../model/resource.ts'

/** admission.k8s.io/v1 AdmissionRequest, as far as it is used. */
export interface AdmissionRequest {
  readonly uid: string
  readonly operation: AdmissionContext<KubeObject>['operation']
  readonly object: KubeObject | null
  readonly oldObject: KubeObject | null
  readonly dryRun?: boolean
  readonly subResource?: string
  readonly userInfo: { readonly username?: string; readonly groups?: readonly string[] }
}

/** admission.k8s.io/v1 AdmissionResponse. */
export interface AdmissionResponse {
  readonly uid: string
  readonly allowed: boolean
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string }
  readonly warnings?: readonly string[]
  readonly patchType?: 'JSONPatch'
  /** Base64 of a JSON patch. */
  readonly patch?: string
}

/** A body that is no AdmissionReview. */
export class ReviewError extends errorOf(OPERATOR_ERRORS, 'ReviewError') {
  constructor(problem: string) {
    super(`not an AdmissionReview of admission.k8s.io/v1: ${problem}`)
  }
}

/** The request in the body of a webhook call. @throws ReviewError */
export const parseReview = (body: string): AdmissionRequest => {
  let review: unknown
  try {
    review = JSON.parse(body)
  } catch {
    throw new ReviewError('the body is not JSON')
  }
  if (!isObject(review) || review.kind !== 'AdmissionReview' || review.apiVersion !== 'admission.k8s.io/v1') {
    throw new ReviewError('apiVersion or kind is another')
  }
  const { request } = review
  if (!isObject(request) || typeof request.uid !== 'string') throw new ReviewError('it has no request with a uid')
  return request as unknown as AdmissionRequest
}

export const reviewOf = (response: AdmissionResponse) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response,
})

/** Asks every handler, so that a person sees all that is wrong at once. RUNTIME-45. */
export const validate = async (
  handlers: readonly AdmissionHandler[],
  request: AdmissionRequest,
  log: Logger,
): Promise<AdmissionResponse> => {
  const object = subjectOf(request)
  const warnings: string[] = []
  const refusals: Error[] = []
  for (const handler of handlers) {
    if (!matches(handler.filters, object)) continue
    try {
      await handler.run(contextOf(request, object, warnings, refusingPatch(handler.id), log))
    } catch (error) {
      refusals.push(refusalOf(error, handler.id, log))
    }
  }
  return answer(request, refusals, warnings)
}

/** Runs the handlers one after the other, each on what the one before has made. The answer holds only what changed. */
export const mutate = async (
  handlers: readonly AdmissionHandler[],
  request: AdmissionRequest,
  log: Logger,
): Promise<AdmissionResponse> => {
  const before = subjectOf(request)
  const draft = structuredClone(before) as Writable<KubeObject>
  const warnings: string[] = []
  try {
    for (const handler of handlers) {
      const object = draft as KubeObject
      if (!matches(handler.filters, object)) continue
      const edits: (() => void)[] = []
      const patch: AdmissionContext<KubeObject>['patch'] = {
        merge: (part) => {
          edits.push(() => mergeInto(draft as unknown as Json, part as Json))
        },
        edit: (edit) => {
          edits.push(() => edit(draft))
        },
      }
      await named(handler.id, () => handler.run(contextOf(request, object, warnings, patch, log)))
      for (const edit of edits) edit()
    }
  } catch (error) {
    return answer(request, [refusalOf(error, 'mutate', log)], warnings)
  }
  const patch: Operation[] = jsonPatch.compare(before, draft)
  const response = answer(request, [], warnings)
  if (patch.length === 0 || request.object === null) return response
  return { ...response, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }
}

/** What the request is about: on DELETE only the old object is there. */
const subjectOf = ({ object, oldObject }: AdmissionRequest): KubeObject => {
  const subject = object ?? oldObject
  if (subject === null || subject === undefined) throw new ReviewError('it has neither an object nor an old one')
  return subject
}

const contextOf = (
  request: AdmissionRequest,
  object: KubeObject,
  warnings: string[],
  patch: AdmissionContext<KubeObject>['patch'],
  log: Logger,
): AdmissionContext<KubeObject> => ({
  object,
  old: request.oldObject ?? undefined,
  operation: request.operation,
  dryRun: request.dryRun === true,
  subresource: request.subResource === '' ? undefined : request.subResource,
  user: { username: request.userInfo.username ?? '', groups: request.userInfo.groups ?? [] },
  warnings,
  patch,
  log,
})

/** The merge patch algorithm of RFC 7386, in place. */
const mergeInto = (target: Json, patch: Json): void => {
  const merged: Json = {}
  mergePatches(merged, patch)
  for (const [key, value] of Object.entries(merged)) {
    if (value === null) delete target[key]
    else if (!isObject(value)) target[key] = value
    else {
      if (!isObject(target[key])) target[key] = {}
      mergeInto(target[key] as Json, value)
    }
  }
}

const refusingPatch = (id: string): AdmissionContext<KubeObject>['patch'] => {
  const refuse = () => {
    throw new TypeError(`validate handler "${id}" must not change the object: declare it with on.mutate`)
  }
  return { merge: refuse, edit: refuse }
}

const named = async (id: string, run: () => void | Promise<void>): Promise<void> => {
  try {
    await run()
  } catch (error) {
    if (error instanceof PermanentError || error instanceof TemporaryError) throw error
    throw new Error(`${id}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

/** A PermanentError is the handler's word to the person; anything else is a fault of ours, which is also logged. */
const refusalOf = (error: unknown, id: string, log: Logger): Error => {
  if (error instanceof PermanentError || error instanceof TemporaryError) return error
  log.error('an admission handler failed, the request is refused', { handler: id, err: error })
  return error instanceof Error ? error : new Error(String(error))
}

const answer = (
  { uid }: AdmissionRequest,
  refusals: readonly Error[],
  warnings: readonly string[],
): AdmissionResponse => {
  const [first] = refusals
  const warned = warnings.length === 0 ? {} : { warnings }
  if (first === undefined) return { uid, allowed: true, ...warned }
  const message = refusals.map((refusal) => refusal.message).join('; ')
  return { uid, allowed: false, status: { ...statusOf(first), message }, ...warned }
}

const statusOf = (error: Error): { readonly code: number; readonly reason: string } => {
  if (error instanceof PermanentError) return { code: 422, reason: error.reason ?? 'Invalid' }
  if (error instanceof TemporaryError) return { code: 429, reason: 'TooManyRequests' }
  return { code: 500, reason: 'InternalError' }
}
