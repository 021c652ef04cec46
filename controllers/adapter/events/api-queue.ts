/** Events from the queue of the HyperFleet API: deliveries that are acknowledged, extended and given back. docs/api-events.md. */
import { formatDuration } from '#operator/model/duration.ts'
import { type HttpClient, RequestError } from '../http/client.ts'
import type { HttpRequest } from '../http/connection.ts'
import type { Json, Retry } from '../task/task.ts'
import { NotAnEventError, parseEvent } from './reconcile-event.ts'
import { redeliveryDelay } from './redelivery.ts'
import { type Delivery, type EventSource, MAX_DEAD_LETTER_CHARS, MAX_DELIVERIES, type SourceOptions } from './source.ts'

export interface QueueOptions extends SourceOptions {
  readonly caller: HttpClient
  /** Only events of resources with these labels, as Kubernetes writes selectors; '' for all. */
  readonly selector: string
}

/** How long a claim waits for the first event, in milliseconds. */
const CLAIM_WAIT_MS = 20_000
const NO_RETRY: Retry = { attempts: 1, backoff: 'constant', baseDelayMs: 0, maxDelayMs: 0, timeoutMs: undefined }
const LONG_POLL: Retry = { ...NO_RETRY, timeoutMs: CLAIM_WAIT_MS + 10_000 }

export const apiQueueSource = (options: QueueOptions): EventSource => {
  const { caller, consumer, resourceType, selector, visibilityMs, onDeadLetter } = options
  const { maxDeliveries = MAX_DELIVERIES } = options
  const path = `/api/hyperfleet/v1/events/consumers/${encodeURIComponent(consumer)}`
  const claimUrl = (receipt: string) => `${path}/claims/${encodeURIComponent(receipt)}`

  const request = (
    method: HttpRequest['method'],
    url: string,
    body: Json | undefined,
    retry: Retry,
    signal: AbortSignal,
  ) => {
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    return caller.send(
      { method, url, headers, body: body === undefined ? undefined : JSON.stringify(body) },
      retry,
      signal,
    )
  }

  /**
   * A claim may be lost meanwhile, or the API away: the event comes again then. What runs out of time is such a case too, so the
   * caller's time limit is the only one.
   * @param bodies what an API that refuses the first is asked instead
   */
  const updateClaim = async (
    method: 'DELETE' | 'PATCH',
    receipt: string,
    ...bodies: readonly Json[]
  ): Promise<void> => {
    const [body, ...others] = bodies
    try {
      await request(method, claimUrl(receipt), body, NO_RETRY, new AbortController().signal)
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      if (error.status === 400 && others.length > 0) await updateClaim(method, receipt, ...others)
    }
  }

  /** Makes a dead letter of it. What can't be made one comes again, and is one after the group's `maxDeliveries`. */
  const moveToDeadLetters = async ({ receipt, event }: Claim, problem: string): Promise<void> => {
    const text = JSON.stringify(event).slice(0, MAX_DEAD_LETTER_CHARS)
    try {
      await request('POST', `${claimUrl(receipt)}/dead-letter`, undefined, NO_RETRY, new AbortController().signal)
      onDeadLetter({ problem, text })
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      onDeadLetter({ problem: `${problem}; it can't become a dead letter (${error.message}) and comes again`, text })
    }
  }

  const giveBack = async (claim: Claim, delayMs: number): Promise<void> => {
    const { receipt, deliveries = 1 } = claim
    if (deliveries >= maxDeliveries)
      return moveToDeadLetters(claim, `the outcome of its run could not be reported, ${deliveries} times`)
    await updateClaim('PATCH', receipt, { visibility: formatDuration(redeliveryDelay(delayMs, deliveries)) })
  }

  const toDelivery = async (claim: Claim): Promise<Delivery | undefined> => {
    const { receipt, event } = claim
    try {
      return {
        event: parseEvent(event),
        acknowledge: () => updateClaim('DELETE', receipt),
        extend: () => updateClaim('PATCH', receipt, { visibility: formatDuration(visibilityMs) }),
        giveBack: (delay) => giveBack(claim, delay),
        // An API of the release before knows no more than to give it back.
        release: () => updateClaim('PATCH', receipt, { visibility: '0s', unprocessed: true }, { visibility: '0s' }),
      }
    } catch (error) {
      if (!(error instanceof NotAnEventError)) throw error
      await moveToDeadLetters(claim, error.message)
      return undefined
    }
  }

  return {
    async open(signal) {
      const group = { resourceType, labels: selector, maxDeliveries }
      await request('PUT', path, group, NO_RETRY, signal)
    },
    async take(max, signal) {
      const settings = { max, wait: formatDuration(CLAIM_WAIT_MS), visibility: formatDuration(visibilityMs) }
      const { body } = await request('POST', `${path}/claims`, settings, LONG_POLL, signal)
      const deliveries = await Promise.all(parseClaims(body).map(toDelivery))
      return deliveries.filter((delivery) => delivery !== undefined)
    },
    async remove(signal) {
      try {
        await request('DELETE', path, undefined, NO_RETRY, signal)
      } catch (error) {
        if (!(error instanceof RequestError && error.status === 404)) throw error
      }
    },
    close: async () => {},
  }
}

interface Claim {
  readonly receipt: string
  /** How often it was delivered, this time included. */
  readonly deliveries?: number
  readonly event: unknown
}

const parseClaims = (body: Json): readonly Claim[] => {
  const { items = [] } = (body ?? {}) as { items?: readonly Claim[] }
  return items
}
