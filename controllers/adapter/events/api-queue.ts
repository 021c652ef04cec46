/** Events from the queue of the HyperFleet API: claims that are acknowledged, extended and given back. Design page 20, Event delivery. */
import { formatDuration } from '#operator/model/duration.ts'
import { type Caller, RequestError } from '../http/client.ts'
import type { Request } from '../http/connection.ts'
import type { Json, Retry } from '../task/task.ts'
import { NotAnEventError, parseEvent } from './reconcile-event.ts'
import { type Delivery, type EventSource, LETTER_LENGTH, type SourceOptions } from './source.ts'

export interface QueueOptions extends SourceOptions {
  readonly caller: Caller
  /** Only events of resources with these labels, as Kubernetes writes selectors; '' for all. */
  readonly selector: string
}

/** How long a claim waits for the first event, in milliseconds. */
const WAIT = 20_000
const ONCE: Retry = { attempts: 1, backoff: 'constant', baseDelay: 0, maxDelay: 0, timeout: undefined }
const PATIENT: Retry = { ...ONCE, timeout: WAIT + 10_000 }

export const queueSource = (options: QueueOptions): EventSource => {
  const { caller, consumer, resourceType, selector, visibility, onDeadLetter } = options
  const path = `/api/hyperfleet/v1/events/consumers/${encodeURIComponent(consumer)}`
  const claimUrl = (receipt: string) => `${path}/claims/${encodeURIComponent(receipt)}`

  const ask = (method: Request['method'], url: string, body: Json | undefined, retry: Retry, signal: AbortSignal) => {
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
   */
  const settle = async (method: 'DELETE' | 'PATCH', receipt: string, body?: Json): Promise<void> => {
    try {
      await ask(method, claimUrl(receipt), body, ONCE, new AbortController().signal)
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
    }
  }

  /** Makes a dead letter of it. What can't be made one comes again, and is one after the group's `maxDeliveries`. */
  const giveUp = async ({ receipt, event }: Claim, problem: string): Promise<void> => {
    const text = JSON.stringify(event).slice(0, LETTER_LENGTH)
    try {
      await ask('POST', `${claimUrl(receipt)}/dead-letter`, undefined, ONCE, new AbortController().signal)
      onDeadLetter({ problem, text })
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      onDeadLetter({ problem: `${problem}; it can't be set aside (${error.message}) and comes again`, text })
    }
  }

  const deliveryOf = async (claim: Claim): Promise<Delivery | undefined> => {
    const { receipt, event } = claim
    try {
      return {
        event: parseEvent(event),
        acknowledge: () => settle('DELETE', receipt),
        keep: () => settle('PATCH', receipt, { visibility: formatDuration(visibility) }),
        giveBack: (delay) => settle('PATCH', receipt, { visibility: formatDuration(delay) }),
      }
    } catch (error) {
      if (!(error instanceof NotAnEventError)) throw error
      await giveUp(claim, error.message)
      return undefined
    }
  }

  return {
    async open(signal) {
      await ask('PUT', path, { resourceType, labels: selector }, ONCE, signal)
    },
    async take(max, signal) {
      const settings = { max, wait: formatDuration(WAIT), visibility: formatDuration(visibility) }
      const { body } = await ask('POST', `${path}/claims`, settings, PATIENT, signal)
      const deliveries = await Promise.all(claimsIn(body).map(deliveryOf))
      return deliveries.filter((delivery) => delivery !== undefined)
    },
    async remove(signal) {
      try {
        await ask('DELETE', path, undefined, ONCE, signal)
      } catch (error) {
        if (!(error instanceof RequestError && error.status === 404)) throw error
      }
    },
    close: async () => {},
  }
}

interface Claim {
  readonly receipt: string
  readonly event: unknown
}

const claimsIn = (body: Json): readonly Claim[] => {
  const { items = [] } = (body ?? {}) as { items?: readonly Claim[] }
  return items
}
