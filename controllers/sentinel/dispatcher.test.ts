import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silent } from '#operator/model/log.ts'
import { type ManualClock, manualClock } from '#test/harness/clock.ts'
import { NEVER_SEEN } from './decision.ts'
import { Dispatcher } from './dispatcher.ts'
import { createMetrics, shardMetrics } from './metrics.ts'
import { Schedule } from './schedule.ts'

let clock: ManualClock
let schedule: Schedule
let dispatcher: Dispatcher
let live: boolean
let sent: string[]
let refuse: boolean
let answer: Promise<void>
let stop: AbortController
let running: Promise<void>

beforeEach(() => {
  clock = manualClock()
  schedule = new Schedule({ notReady: 10_000, ready: 60_000 })
  live = false
  sent = []
  refuse = false
  answer = Promise.resolve()
  stop = new AbortController()
  const metrics = shardMetrics(createMetrics(new Registry()), 'all', 'clusters')
  const send = async ({ id }: { id: string }) => {
    sent.push(id)
    await answer
    if (refuse) throw new Error('refused')
  }
  dispatcher = new Dispatcher({
    dispatch: () => ({ open: true, live, schedule, metrics, pollInterval: 5_000, send }),
    turned: () => {},
    changed: () => {},
    pulsesBefore: 0,
    clock,
    log: silent,
  })
  running = dispatcher.run(stop.signal)
})

afterEach(async () => {
  stop.abort()
  await running
})

const observe = (id: string) => {
  const facts = { generation: 1, deleting: false, ready: false, reference: clock.now().getTime() }
  schedule.observe({ id, facts, recall: () => NEVER_SEEN }, clock.now().getTime())
}

test('while facts are only true when told, time alone sends nothing', async () => {
  observe('a')
  await clock.advance('1h')
  expect(sent).toEqual([])
  dispatcher.decide(['a'])
  await clock.advance('1ms')
  expect(sent).toEqual(['a'])
})

test('while facts are live, time sends', async () => {
  live = true
  observe('a')
  dispatcher.wake()
  await clock.advance('10s')
  expect(sent).toEqual(['a', 'a'])
})

test('what was told just before the facts became live leaves nothing undecided', async () => {
  observe('a')
  dispatcher.decide(['a', 'a stranger'])
  live = true
  await clock.advance('1ms')
  expect(sent).toEqual(['a'])
  expect(dispatcher.settled).toBe(true)
})

test('a refused pulse is owed until it is taken, and tried again after the poll interval', async () => {
  live = true
  refuse = true
  observe('a')
  dispatcher.wake()
  await clock.advance('4s')
  expect([sent.length, dispatcher.refused, dispatcher.settled]).toEqual([1, true, false])
  refuse = false
  await clock.advance('1s')
  expect([sent.length, dispatcher.refused, dispatcher.pulses]).toEqual([2, false, 1])
})

test('nothing is owed to a resource that was gone before the answer came, nor to one that a look has not seen', async () => {
  live = true
  refuse = true
  observe('a')
  observe('b')
  schedule.beginSweep()
  const { promise, resolve } = Promise.withResolvers<void>()
  answer = promise
  dispatcher.wake()
  await clock.advance('1ms')
  schedule.forget('a')
  resolve()
  await clock.advance('1ms')
  expect([sent, dispatcher.refused]).toEqual([['a', 'b'], true])
  schedule.endSweep()
  expect([dispatcher.refused, dispatcher.settled, dispatcher.failure]).toEqual([false, true, undefined])
})

test('nothing is owed to a resource that somebody has reported on since', async () => {
  live = true
  observe('a')
  dispatcher.wake()
  await clock.advance('9s')
  refuse = true
  await clock.advance('1s')
  expect([sent, dispatcher.failure?.message]).toEqual([['a', 'a'], 'Error: refused'])
  const facts = { generation: 1, deleting: false, ready: true, reference: clock.now().getTime() }
  schedule.observe({ id: 'a', facts, recall: () => NEVER_SEEN }, clock.now().getTime())
  expect([dispatcher.refused, dispatcher.settled, dispatcher.failure]).toEqual([false, true, undefined])
})
