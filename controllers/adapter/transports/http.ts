/** Resources of other HTTP services: PUT (or POST, the first time) applies, GET reads, DELETE deletes. Seed: pulses-and-status, other APIs. */
import { TaskError } from '../failure.ts'
import { type Caller, RequestError, type Taken } from '../http/caller.ts'
import type { Request } from '../http/exchange.ts'
import type { JsonObject, Retry } from '../task/form.ts'
import type { Target, Transport } from './transport.ts'

const RETRY: Retry = { attempts: 3, backoff: 'exponential', baseDelay: 500, maxDelay: 10_000, timeout: undefined }

/** @param caller without a token of the HyperFleet API: other services are no business of it */
export const httpTransport = (caller: Caller): Transport => {
  const ask = async (
    target: Target,
    method: Request['method'],
    url: string,
    body: JsonObject | undefined,
    signal: AbortSignal,
  ): Promise<Taken | undefined> => {
    const { headers } = reachOf(target)
    const content: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    const request = { method, url, headers: { ...content, ...headers }, body: body && JSON.stringify(body) }
    try {
      return await caller.send(request, RETRY, signal)
    } catch (error) {
      if (error instanceof RequestError && (error.status === 404 || error.status === 410)) return undefined
      throw error
    }
  }

  const find = async (target: Target, signal: AbortSignal): Promise<readonly JsonObject[]> => {
    const answer = await ask(target, 'GET', reachOf(target).url, undefined, signal)
    return answer === undefined ? [] : [objectOf(answer)]
  }

  return {
    async apply(target, signal) {
      const { url, createUrl } = reachOf(target)
      const isThere = createUrl === undefined || (await find(target, signal)).length > 0
      const answer = isThere
        ? await ask(target, 'PUT', url, target.manifest, signal)
        : await ask(target, 'POST', createUrl ?? url, target.manifest, signal)
      if (answer === undefined)
        throw new TaskError('ApplyFailed', `${target.name} can't be applied: there is no ${url} to send it to`)
      const [object = objectOf(answer)] = await find(target, signal)
      return object
    },
    find,
    async delete(target, _object, _policy, signal) {
      await ask(target, 'DELETE', reachOf(target).url, undefined, signal)
    },
  }
}

const reachOf = ({ reach, name }: Target) => {
  if (reach.kind === 'http') return reach
  throw new TypeError(`${name} is no resource of an HTTP service`)
}

/** What is no object is shown as one that holds it. */
const objectOf = ({ body }: Taken): JsonObject =>
  typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as JsonObject) : { value: body }
