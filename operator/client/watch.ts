/** The list and watch protocol of the API server as data: its states, its messages, its failures, and what follows on each. */
import { errorOf } from '#lib/errors/error-of.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'
import { type ExponentialBackoff, exponentialDelay } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import type { Query } from './api-server.ts'
import { ApiError, type Status } from './errors.ts'

/**
 * Where a reflector is.
 *
 *   empty ──► streaming ──(initial-events-end)──► watching ◄─┐ ended in its time: again from the last resourceVersion;
 *     ▲  └──► paging ──(last page)──────────────►    │   └───┘ cut, silent: from the last change, where the server has it still
 *     └──(410: too old; the history is another one)──┘
 */
export type WatchState =
  /** Nothing is known, or what is known may miss deletions: everything has to be listed. */
  | { readonly phase: 'empty' }
  /** WatchList: the existing objects arrive as ADDED events, then a marked bookmark, then changes on the same stream. */
  | { readonly phase: 'streaming' }
  /** A list in pages, for servers without WatchList, or on request. */
  | { readonly phase: 'paging' }
  /** The objects up to this resourceVersion are known; changes after it are asked for. */
  | { readonly phase: 'watching'; readonly resourceVersion: string }

/** One line of a watch. */
export type WatchMessage<O extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: O }
  | { readonly type: 'BOOKMARK'; readonly object: { readonly metadata: Bookmark } }
  | { readonly type: 'ERROR'; readonly object: Status }

interface Bookmark {
  readonly resourceVersion: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** Why listing or watching stopped before the signal did. */
export type WatchFailure =
  /** 410, as an answer or as an ERROR event: the server no longer has the history we asked for, or has gone back in it. */
  | { readonly cause: 'expired' }
  /** 400 or 422 for `sendInitialEvents`: the server has no WatchList. */
  | { readonly cause: 'unsupported' }
  /** A WatchList that ended, or brought no new object for a minute, without the mark that ends a list: a server or proxy without it. */
  | { readonly cause: 'unmarked' }
  /** A list that took too long: it begins anew. */
  | { readonly cause: 'slow'; readonly message: string }
  /** Any other error answer: no permission, kind not there (yet), too many requests, server starting. */
  | { readonly cause: 'refused'; readonly error: ApiError }
  /** The stream ended as it should, after `timeoutSeconds`, or because the server goes down in good order. */
  | { readonly cause: 'ended' }
  /** Unreachable, cut, silent for too long, or a line that is not a watch event. */
  | { readonly cause: 'broken'; readonly error: unknown }

/** A line of a watch that is not a watch event. */
export class MalformedLineError extends errorOf(OPERATOR_ERRORS, 'MalformedLineError') {
  constructor(line: Buffer, options?: ErrorOptions) {
    super(`the watch sent a line that is not a watch event: ${line.toString('utf8', 0, 200)}`, options)
  }
}

/** @throws MalformedLineError */
export const parseMessage = <O extends KubeObject>(line: Buffer): WatchMessage<O> => {
  let message: WatchMessage<O>
  try {
    message = JSON.parse(line.toString())
  } catch (error) {
    throw new MalformedLineError(line, { cause: error })
  }
  if (message === null || typeof message?.object !== 'object' || message.object === null)
    throw new MalformedLineError(line)
  return message
}

/** The bookmark that ends the initial events of a WatchList. */
export const endsInitialEvents = ({ annotations }: Bookmark): boolean =>
  annotations?.['k8s.io/initial-events-end'] === 'true'

/** The query of the watch that a state asks for. `seconds` is when the server is to end it. */
export const watchQuery = (state: WatchState, seconds: number): Query => ({
  watch: true,
  allowWatchBookmarks: true,
  timeoutSeconds: seconds,
  ...(state.phase === 'watching'
    ? { resourceVersion: state.resourceVersion }
    : { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }),
})

/** A WatchList sent no new object for so long, and no mark that its list is complete. Milliseconds. */
export const END_MARK_TIMEOUT_MS = 60_000
/** After so many WatchLists in a row that ended without their mark, lists are read in pages: RUNTIME-52. */
export const MAX_UNMARKED_STREAMS = 2

/** A WatchList that is given up because its mark does not come. */
export class EndMarkMissingError extends errorOf(OPERATOR_ERRORS, 'EndMarkMissingError') {
  constructor() {
    super(`no new object and no end of the list within ${END_MARK_TIMEOUT_MS / 1_000} s`)
  }
}

/** A list of a time before what is known: of a server that lags behind another, that marks its end too early, or that was restored. */
export class StaleListError extends errorOf(OPERATOR_ERRORS, 'StaleListError') {
  constructor(resourceVersion: string, known: string) {
    super(`the list is said to be complete as of version ${resourceVersion}, but version ${known} was seen before`)
  }
}

/** What an error thrown while in a state means. */
export const failureOf = (error: unknown, state: WatchState): WatchFailure => {
  if (error instanceof EndMarkMissingError) return { cause: 'unmarked' }
  if (!(error instanceof ApiError)) return { cause: 'broken', error }
  if (error.status === 410 && state.phase === 'paging') return SLOW_PAGES
  if (error.status === 410 || isFromTheFuture(error)) return { cause: 'expired' }
  const unsupported = state.phase === 'streaming' && (error.status === 400 || error.status === 422)
  return unsupported ? { cause: 'unsupported' } : { cause: 'refused', error }
}

/** Is our resourceVersion newer than the server's newest? Its data were restored from a backup. */
const isFromTheFuture = ({ details }: ApiError): boolean =>
  details.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false

/** Where to go on after a failure: an interrupted list starts over, an interrupted watch is still one. RUNTIME-34, RUNTIME-72. */
export const stateAfter = (failure: WatchFailure, state: WatchState): WatchState => {
  if (failure.cause === 'unsupported') return { phase: 'paging' }
  if (failure.cause === 'expired' || state.phase !== 'watching') return { phase: 'empty' }
  return state
}

const DELAY: ExponentialBackoff = { initial: 800, factor: 2, max: 30_000 }

/**
 * Milliseconds to wait before the next attempt: none after an orderly end or an expiry that followed on good events,
 * else 0.8 s doubling to 30 s, shortened by up to a half at random so that many clients do not come back together, and
 * never less than the server's Retry-After. RUNTIME-35.
 * @param idle attempts in a row, this one included, that brought no event
 * @param random in [0, 1)
 */
export const delayAfter = (failure: WatchFailure, idle: number, random: number): number => {
  if (failure.cause === 'unsupported') return 0
  if (idle === 0 && failure.cause !== 'refused' && failure.cause !== 'broken') return 0
  const backoff = exponentialDelay(DELAY, Math.max(1, idle)) * (1 - random / 2)
  return failure.cause === 'refused' ? Math.max(backoff, failure.error.retryAfter ?? 0) : backoff
}

/** A WatchList whose time was over while its objects still came. */
export const slowStream = (seconds: number): WatchFailure => ({
  cause: 'slow',
  message: `the list was not complete within ${seconds} s, because the API server or the network is slow: it is asked for more time`,
})

const SLOW_PAGES: WatchFailure = {
  cause: 'slow',
  message:
    'the list took longer than the API server keeps its state (five minutes), and it can not be continued: it begins again',
}

/** So many times longer than a watch the server is to go on with a WatchList that was not complete in its time. */
export const SLOW_LIST_FACTOR = 8

/** The log line for a failure. */
export const describe = (failure: WatchFailure): readonly ['debug' | 'info' | 'warn', string] => {
  switch (failure.cause) {
    case 'expired':
      return ['info', 'the watch is too old, listing again']
    case 'unmarked':
      return ['warn', 'the server did not say when its list was complete, as one without WatchList or behind a proxy']
    case 'slow':
      return ['warn', failure.message]
    case 'unsupported':
      return ['info', 'the server has no WatchList, listing in pages']
    case 'refused':
      return ['warn', `listing or watching is refused: ${failure.error.message}`]
    case 'ended':
      return ['debug', 'the watch ended, starting the next']
    case 'broken':
      return ['warn', `the watch broke: ${messageOf(failure.error)}`]
  }
}
