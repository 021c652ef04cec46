import { expect, test } from 'vitest'
import type { Trace } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import { RunHistory } from './run-history.ts'

const trace = (status: Trace['status'] = 'success', more: Partial<Trace> = {}): Trace => ({
  event: { id: 'c1' },
  status,
  mode: 'apply',
  failures: [],
  params: [],
  preconditions: [],
  resources: [],
  payloads: [],
  actions: [],
  requests: [],
  startedAt: '2026-01-31T12:00:00.000Z',
  duration: 5,
  ...more,
})
const run = (task: string, resource: string, status?: Trace['status']) => ({
  namespace: 'n',
  task,
  adapter: task,
  resource,
  trace: trace(status),
})

test('the newest come first, and filters choose among them', () => {
  const book = new RunHistory()
  for (const [task, resource, status] of [
    ['a', 'c1', 'success'],
    ['a', 'c2', 'failed'],
    ['b', 'c1', 'skipped'],
  ] as const)
    book.record(run(task, resource, status))
  const said = (filter: object, limit = 10) =>
    book.list(filter, limit).map(({ task, resource }) => `${task} ${resource}`)
  expect(said({})).toEqual(['b c1', 'a c2', 'a c1'])
  expect(said({}, 1)).toEqual(['b c1'])
  expect(said({ task: 'a' })).toEqual(['a c2', 'a c1'])
  expect(said({ resource: 'c1' })).toEqual(['b c1', 'a c1'])
  expect(said({ status: 'failed' })).toEqual(['a c2'])
  expect(said({ namespace: 'other' })).toEqual([])
})

test('ADAPTER-60: a bounded number is kept, and the failure of a resource until it succeeds', () => {
  const book = new RunHistory()
  book.record(run('a', 'unlucky', 'failed'))
  for (let at = 0; at < 200; at++) book.record(run('a', `c${at}`))
  expect(book.list({}, 1_000)).toHaveLength(51)
  expect(book.list({ resource: 'unlucky' }, 10)).toHaveLength(1)
  book.record(run('a', 'unlucky'))
  expect(book.list({ status: 'failed' }, 10)).toEqual([])
  book.forget('n', 'a')
  expect(book.list({}, 10)).toEqual([])
})

test('the failures of many resources are bounded too', () => {
  const book = new RunHistory()
  for (let at = 0; at < 200; at++) book.record(run('a', `c${at}`, 'failed'))
  for (let at = 0; at < 50; at++) book.record(run('a', `d${at}`))
  expect(book.list({ status: 'failed' }, 1_000)).toHaveLength(50)
})

test('ADAPTER-60: a large trace is truncated, and its outcome stays', () => {
  const book = new RunHistory()
  const failures = [{ phase: 'resources', step: 'config', reason: 'ApplyFailed', message: 'refused' }] as const
  const value = Array.from({ length: 20_000 }, (_, at) => at)
  book.record({
    ...run('a', 'c1'),
    trace: trace('failed', { failures, payloads: [{ name: 'p', skipped: false, value }] }),
  })
  const [kept] = book.list({}, 1)
  expect(JSON.stringify(kept).length).toBeLessThan(3_000)
  expect(kept?.trace.failures).toEqual(failures)
})

test('listeners hear of each run until they stop', () => {
  const book = new RunHistory()
  let heard = 0
  const stop = book.onChange(() => heard++)
  book.record(run('a', 'c1'))
  stop()
  book.record(run('a', 'c1'))
  expect(heard).toBe(1)
})
