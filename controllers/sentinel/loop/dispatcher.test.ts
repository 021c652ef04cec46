import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silent } from '#operator/model/log.ts'
import { type ManualClock, manualClock } from '#test/harness/clock.ts'
import { NEVER_PULSED } from '../decision/decide.ts'
import { Schedule } from '../decision/schedule.ts'
import { createMetrics, shardMetrics } from '../metrics.ts'
import { Dispatcher } from './dispatcher.ts'

let clock: ManualClock
let schedule: Schedule
let dispatcher: Dispatcher
let isLive: boolean
let sent: string[]
let refuse: boolean
let answer: Promise<void>
let stop: AbortController
let running: Promise<void>

beforeEach(() => {
  clock = manualClock()
  schedule = new Schedule({ notReady: 10_000, ready: 60_000 })
  isLive = false
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
    state: () => ({ isConnected: true, isLive, schedule, metrics, pollInterval: 5_000, send }),
    roundEnded: () => {},
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
  const state = { generation: 1, deleting: false, ready: false, reference: clock.now().getTime() }
  schedule.observe({ id, state, inferHistory: () => NEVER_PULSED }, clock.now().getTime())
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
  isLive = true
  observe('a')
  dispatcher.wake()
  await clock.advance('10s')
  expect(sent).toEqual(['a', 'a'])
})

test('what was told just before the facts became live leaves nothing undecided', async () => {
  observe('a')
  dispatcher.decide(['a', 'a stranger'])
  isLive = true
  await clock.advance('1ms')
  expect(sent).toEqual(['a'])
  expect(dispatcher.isDone).toBe(true)
})

// SENTINEL-15
test('a refused pulse is owed until it is taken, and tried again after the poll interval', async () => {
  isLive = true
  refuse = true
  observe('a')
  dispatcher.wake()
  await clock.advance('4s')
  expect([sent.length, dispatcher.hasFailedPulses, dispatcher.isDone]).toEqual([1, true, false])
  refuse = false
  await clock.advance('1s')
  expect([sent.length, dispatcher.hasFailedPulses, dispatcher.pulses]).toEqual([2, false, 1])
})

test('nothing is owed to a resource that was gone before the answer came, nor to one that a look has not seen', async () => {
  isLive = true
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
  expect([sent, dispatcher.hasFailedPulses]).toEqual([['a', 'b'], true])
  schedule.endSweep()
  expect([dispatcher.hasFailedPulses, dispatcher.isDone, dispatcher.failure]).toEqual([false, true, undefined])
})

test('nothing is owed to a resource with a report since', async () => {
  isLive = true
  observe('a')
  dispatcher.wake()
  await clock.advance('9s')
  refuse = true
  await clock.advance('1s')
  expect([sent, dispatcher.failure?.message]).toEqual([['a', 'a'], 'Error: refused'])
  const state = { generation: 1, deleting: false, ready: true, reference: clock.now().getTime() }
  schedule.observe({ id: 'a', state, inferHistory: () => NEVER_PULSED }, clock.now().getTime())
  expect([dispatcher.hasFailedPulses, dispatcher.isDone, dispatcher.failure]).toEqual([false, true, undefined])
})
