/** What can go wrong with a HyperFleet API, by what is done about it. The names are reasons of the condition Ready (SENTINEL-29). */

import { errorOf } from '#lib/errors/error-of.ts'
import { API_ERRORS } from '../errors.ts'

export type HyperFleetErrorReason =
  /** No answer in time, or one that says to come back: 5xx, 408, 429. */
  | 'APIUnreachable'
  /** 404: the API serves no such resource type. */
  | 'UnknownResourceType'
  /** A redirect, or any other 4xx: the request itself is refused. */
  | 'APIRefused'
  /** 410: the watch can't be continued from where it was. */
  | 'WatchExpired'
  /** The answer is not what this API speaks. */
  | 'APIMalformed'

export class HyperFleetError extends errorOf(API_ERRORS, 'HyperFleetError') {
  readonly reason: HyperFleetErrorReason
  /** The HTTP status; undefined without an answer. */
  readonly status: number | undefined
  /** Milliseconds after which the API wants to be asked again. */
  readonly retryAfter: number | undefined

  constructor(
    reason: HyperFleetErrorReason,
    message: string,
    options: ErrorOptions & { readonly status?: number; readonly retryAfter?: number | undefined } = {},
  ) {
    super(message, options)
    this.reason = reason
    this.status = options.status
    this.retryAfter = options.retryAfter
  }
}

/** The reason that an HTTP status stands for; statuses below 300 have none. */
export const reasonOfStatus = (status: number): HyperFleetErrorReason => {
  if (status === 404) return 'UnknownResourceType'
  if (status === 410) return 'WatchExpired'
  if (status >= 500 || status === 408 || status === 429) return 'APIUnreachable'
  return 'APIRefused'
}
