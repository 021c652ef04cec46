/**
 * Resources of other HTTP services: PUT (or POST, the first time) applies, GET reads, DELETE deletes: ADAPTER-56. Where
 * they may lead: lib/egress/http-allowlist.ts.
 */

import type { HttpAllowlist } from '#lib/egress/http-allowlist.ts'
import { isObject } from '#lib/json/is-object.ts'
import { type HttpClient, type HttpResult, RequestError } from '../http/client.ts'
import type { HttpRequest } from '../http/connection.ts'
import { type FailureReason, TaskError } from '../run/task-error.ts'
import type { Json, JsonObject, Retry } from '../task/task.ts'
import { explainErrors } from './explain-errors.ts'
import type { Lookup, ResourceTransport, Target } from './transport.ts'

const RETRY: Retry = { attempts: 3, backoff: 'exponential', baseDelayMs: 500, maxDelayMs: 10_000, timeoutMs: undefined }

/** Bytes of an answer: no object of a task is larger. */
export const MAX_RESPONSE_CHARS = 1024 * 1024

interface ObjectRequest {
  readonly method: HttpRequest['method']
  readonly url: string
  readonly body?: JsonObject
  /** The request is for the object of this state only. RFC 9110, 13.1.1. */
  readonly ifMatch?: string | undefined
}

/** @param caller without a token of the HyperFleet API: other services are no business of it */
export const httpTransport = (caller: HttpClient, targets: HttpAllowlist): ResourceTransport => {
  /** The entity tag that an object came with: a deletion is for this very object. */
  const tags = new WeakMap<JsonObject, string>()

  const request = (
    { headers }: HttpLookup,
    { method, url, body, ifMatch }: ObjectRequest,
    signal: AbortSignal,
  ): Promise<HttpResult> => {
    const refusal = targets.refusal(url)
    if (refusal !== undefined) throw new TaskError('InvalidManifest', refusal)
    const content: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    if (ifMatch !== undefined) content['if-match'] = ifMatch
    return caller.send({ method, url, headers: { ...content, ...headers }, body: toText(body) }, RETRY, signal)
  }

  const find = async (lookup: Lookup, signal: AbortSignal): Promise<readonly JsonObject[]> => {
    const reach = requireHttp(lookup)
    try {
      const { body, etag } = await request(reach, { method: 'GET', url: reach.url }, signal)
      const object = toObject(body)
      if (etag !== undefined) tags.set(object, etag)
      return [object]
    } catch (error) {
      if (isAbsent(error)) return []
      throw error
    }
  }

  const apply = async (target: Target, signal: AbortSignal): Promise<JsonObject> => {
    const reach = requireHttp(target)
    const { url, createUrl } = reach
    const put = () => request(reach, { method: 'PUT', url, body: target.manifest }, signal)
    const answer =
      createUrl === undefined || (await find(target, signal)).length > 0
        ? await put()
        : await request(reach, { method: 'POST', url: createUrl, body: target.manifest }, signal).catch((error) => {
            // Another one made it meanwhile, or our own request was taken and its answer lost.
            if (statusOf(error) === 409) return put()
            throw error
          })
    const [object = toObject(answer.body)] = await find(target, signal)
    return object
  }

  return {
    apply: (target, signal) =>
      explained('ApplyFailed', `${target.name} can't be applied`, signal, () => apply(target, signal)),
    find: (lookup, signal) =>
      explained('DiscoveryFailed', `${lookup.name} can't be looked for`, signal, () => find(lookup, signal)),
    delete: (lookup, object, _policy, signal) =>
      explained('DeleteFailed', `${lookup.name} can't be deleted`, signal, async () => {
        const reach = requireHttp(lookup)
        try {
          await request(reach, { method: 'DELETE', url: reach.url, ifMatch: tags.get(object) }, signal)
        } catch (error) {
          // 412: it has changed since it was looked at, and the next look says into what.
          if (!isAbsent(error) && statusOf(error) !== 412) throw error
        }
        return 'asked' as const
      }),
  }
}

type HttpLookup = Extract<Lookup['transport'], { readonly kind: 'http' }>

const requireHttp = ({ transport, name }: Lookup): HttpLookup => {
  if (transport.kind === 'http') return transport
  throw new TypeError(`${name} is no resource of an HTTP service`)
}

const statusOf = (error: unknown): number | undefined => (error instanceof RequestError ? error.status : undefined)

const isAbsent = (error: unknown): boolean => statusOf(error) === 404 || statusOf(error) === 410

const toText = (body: JsonObject | undefined): string | undefined => body && JSON.stringify(body)

/** What is no object is shown as one that holds it. */
const toObject = (body: Json): JsonObject => (isObject(body) ? (body as JsonObject) : { value: body })

const explained = explainErrors((error, otherwise, what) => {
  if (!(error instanceof TaskError)) return undefined
  const reason = error instanceof RequestError ? reasonOf(error, otherwise) : error.reason
  return new TaskError(reason, `${what}: ${error.message}`, { cause: error })
})

const reasonOf = ({ status, code }: RequestError, otherwise: FailureReason): FailureReason => {
  if (status === undefined) return 'Unreachable'
  if (code === 'QuotaExceeded') return 'QuotaExceeded'
  return status === 401 || status === 403 ? 'Forbidden' : otherwise
}
