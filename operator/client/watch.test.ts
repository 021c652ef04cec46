import { expect, test } from 'vitest'
import { ApiError } from './errors.ts'
import {
  delayAfter,
  failureOf,
  parseMessage,
  stateAfter,
  type WatchFailure,
  type WatchState,
  watchQuery,
} from './watch.ts'

const watching: WatchState = { phase: 'watching', resourceVersion: '7' }
const streaming: WatchState = { phase: 'streaming' }
const paging: WatchState = { phase: 'paging' }
const answer = (code: number, retryAfter?: number) => new ApiError({ kind: 'Status', code }, retryAfter)
const refused = (retryAfter?: number): WatchFailure => ({ cause: 'refused', error: answer(503, retryAfter) })
const broken: WatchFailure = { cause: 'broken', error: new Error('cut') }

test.each<[number, WatchState, WatchFailure['cause'], WatchState['phase']]>([
  [410, watching, 'expired', 'empty'],
  [410, paging, 'slow', 'empty'],
  [410, streaming, 'expired', 'empty'],
  [422, streaming, 'unsupported', 'paging'],
  [400, streaming, 'unsupported', 'paging'],
  [400, paging, 'refused', 'empty'],
  [422, watching, 'refused', 'watching'],
  [403, streaming, 'refused', 'empty'],
  [404, paging, 'refused', 'empty'],
  [500, watching, 'refused', 'watching'],
  [429, watching, 'refused', 'watching'],
])('%i while %o means %s, and goes on %s', (code, state, cause, phase) => {
  const failure = failureOf(answer(code), state)
  expect([failure.cause, stateAfter(failure, state).phase]).toEqual([cause, phase])
})

test('a server that went back in history, restored from a backup, is listed again', () => {
  const details = { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] }
  const error = new ApiError({ kind: 'Status', code: 504, reason: 'Timeout', details })
  expect(failureOf(error, watching)).toEqual({ cause: 'expired' })
})

test('a cut or ended watch goes on from its last resourceVersion, a cut list starts over', () => {
  expect(stateAfter(failureOf(new Error('cut'), watching), watching)).toBe(watching)
  expect(stateAfter({ cause: 'ended' }, watching)).toBe(watching)
  expect(stateAfter({ cause: 'ended' }, streaming)).toEqual({ phase: 'empty' })
})

test('the wait doubles from 0.8 s to 30 s, and chance shortens it by up to a half', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 99].map((idle) => delayAfter(broken, idle, 0))
  expect(waits).toEqual([800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
  expect(delayAfter(broken, 1, 0.5)).toBe(600)
})

// RUNTIME-35
test('Retry-After is the least wait, not the most', () => {
  expect(delayAfter(refused(5_000), 1, 0)).toBe(5_000)
  expect(delayAfter(refused(1_000), 7, 0)).toBe(30_000)
})

test('there is no wait after events and an orderly end, but a server that ends every watch at once is not pestered', () => {
  expect(delayAfter({ cause: 'ended' }, 0, 0)).toBe(0)
  expect(delayAfter({ cause: 'expired' }, 0, 0)).toBe(0)
  expect(delayAfter({ cause: 'ended' }, 3, 0)).toBe(3_200)
  expect(delayAfter({ cause: 'expired' }, 3, 0)).toBe(3_200)
  expect(delayAfter({ cause: 'unsupported' }, 1, 0)).toBe(0)
  expect(delayAfter(broken, 0, 0)).toBe(800)
})

test('a watch asks for initial events, or for changes after a resourceVersion', () => {
  const always = { watch: true, allowWatchBookmarks: true, timeoutSeconds: 300 }
  expect(watchQuery(streaming, 300)).toEqual({
    ...always,
    sendInitialEvents: true,
    resourceVersionMatch: 'NotOlderThan',
  })
  expect(watchQuery(watching, 300)).toEqual({ ...always, resourceVersion: '7' })
})

test.each(['', '{', 'null', '"text"', '{}', '{"type":"ADDED"}', '{"type":"ADDED","object":null}'])(
  'a line %j is malformed',
  (line) => {
    expect(() => parseMessage(Buffer.from(line))).toThrow('the watch sent a line that is not a watch event')
  },
)
