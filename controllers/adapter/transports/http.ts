/**
 * Resources of other HTTP services: PUT (or POST, the first time) applies, GET reads, DELETE deletes. Seed: pulses-and-status, other
 * APIs. Where they may lead: ./http-targets.ts.
 */

import { type Caller, RequestError, type Taken } from '../http/client.ts'
import type { Request } from '../http/connection.ts'
import { type FailureReason, TaskError } from '../run/task-error.ts'
import type { Json, JsonObject, Retry } from '../task/task.ts'
import { explaining } from './explain-errors.ts'
import type { HttpTargets } from './http-allowlist.ts'
import type { Sought, Target, Transport } from './transport.ts'

const RETRY: Retry = { attempts: 3, backoff: 'exponential', baseDelay: 500, maxDelay: 10_000, timeout: undefined }

/** Bytes of an answer: no object of a task is larger. */
export const LARGEST_ANSWER = 1024 * 1024

interface Ask {
  readonly method: Request['method']
  readonly url: string
  readonly body?: JsonObject
  /** The request is for the object of this state only. RFC 9110, 13.1.1. */
  readonly ifMatch?: string | undefined
}

/** @param caller without a token of the HyperFleet API: other services are no business of it */
export const httpTransport = (caller: Caller, targets: HttpTargets): Transport => {
  /** The entity tag that an object came with: a deletion is for this very object. */
  const tags = new WeakMap<JsonObject, string>()

  const ask = ({ headers }: Reach, { method, url, body, ifMatch }: Ask, signal: AbortSignal): Promise<Taken> => {
    const refusal = targets.refusal(url)
    if (refusal !== undefined) throw new TaskError('InvalidManifest', refusal)
    const content: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    if (ifMatch !== undefined) content['if-match'] = ifMatch
    return caller.send({ method, url, headers: { ...content, ...headers }, body: textOf(body) }, RETRY, signal)
  }

  const find = async (sought: Sought, signal: AbortSignal): Promise<readonly JsonObject[]> => {
    const reach = reachOf(sought)
    try {
      const { body, etag } = await ask(reach, { method: 'GET', url: reach.url }, signal)
      const object = objectOf(body)
      if (etag !== undefined) tags.set(object, etag)
      return [object]
    } catch (error) {
      if (isAbsent(error)) return []
      throw error
    }
  }

  const apply = async (target: Target, signal: AbortSignal): Promise<JsonObject> => {
    const reach = reachOf(target)
    const { url, createUrl } = reach
    const put = () => ask(reach, { method: 'PUT', url, body: target.manifest }, signal)
    const answer =
      createUrl === undefined || (await find(target, signal)).length > 0
        ? await put()
        : await ask(reach, { method: 'POST', url: createUrl, body: target.manifest }, signal).catch((error) => {
            // Another one made it meanwhile, or our own request was taken and its answer lost.
            if (statusOf(error) === 409) return put()
            throw error
          })
    const [object = objectOf(answer.body)] = await find(target, signal)
    return object
  }

  return {
    apply: (target, signal) =>
      explained('ApplyFailed', `${target.name} can't be applied`, signal, () => apply(target, signal)),
    find: (sought, signal) =>
      explained('DiscoveryFailed', `${sought.name} can't be looked for`, signal, () => find(sought, signal)),
    delete: (sought, object, _policy, signal) =>
      explained('DeleteFailed', `${sought.name} can't be deleted`, signal, async () => {
        const reach = reachOf(sought)
        try {
          await ask(reach, { method: 'DELETE', url: reach.url, ifMatch: tags.get(object) }, signal)
        } catch (error) {
          // 412: it has changed since it was looked at, and the next look says into what.
          if (!isAbsent(error) && statusOf(error) !== 412) throw error
        }
      }),
  }
}

type Reach = Extract<Sought['reach'], { readonly kind: 'http' }>

const reachOf = ({ reach, name }: Sought): Reach => {
  if (reach.kind === 'http') return reach
  throw new TypeError(`${name} is no resource of an HTTP service`)
}

const statusOf = (error: unknown): number | undefined => (error instanceof RequestError ? error.status : undefined)

const isAbsent = (error: unknown): boolean => statusOf(error) === 404 || statusOf(error) === 410

const textOf = (body: JsonObject | undefined): string | undefined => body && JSON.stringify(body)

/** What is no object is shown as one that holds it. */
const objectOf = (body: Json): JsonObject =>
  typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as JsonObject) : { value: body }

const explained = explaining((error, otherwise, what) => {
  if (!(error instanceof TaskError)) return undefined
  const reason = error instanceof RequestError ? reasonOf(error, otherwise) : error.reason
  return new TaskError(reason, `${what}: ${error.message}`, { cause: error })
})

const reasonOf = ({ status }: RequestError, otherwise: FailureReason): FailureReason => {
  if (status === undefined) return 'Unreachable'
  return status === 401 || status === 403 ? 'Forbidden' : otherwise
}
