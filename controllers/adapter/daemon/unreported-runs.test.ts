import { expect, test } from 'vitest'
import { manualClock } from '#test/harness/clock.ts'
import type { ReconcileEvent } from '../events/reconcile-event.ts'
import { UnreportedRuns } from './unreported-runs.ts'

const eventOf = (id: string): ReconcileEvent => ({ id, type: 'pulse', traceparent: undefined, data: { id } })

/** @param reports whether the API takes the report of a resource */
const world = (reports: (id: string) => boolean) => {
  const clock = manualClock()
  const stop = new AbortController()
  const runs: string[] = []
  const began = clock.now().getTime()
  const unreported = new UnreportedRuns(clock, (event) => {
    runs.push(`${(clock.now().getTime() - began) / 1_000} ${event.data.id}`)
    // As a queue does, it runs once the one before has ended.
    queueMicrotask(() => unreported.record(event, reports(event.data.id)))
  })
  const ended = unreported.run(stop.signal)
  return {
    clock,
    runs,
    unreported,
    stop: async () => {
      stop.abort()
      await ended
    },
  }
}

test('ADAPTER-22: while no report is taken, one resource is tried after the other, every half a minute at most', async () => {
  const the = world(() => false)
  for (const id of ['a', 'b', 'c']) the.unreported.record(eventOf(id), false)
  await the.clock.advance('2m')
  expect(the.runs).toEqual(['5 a', '15 b', '35 c', '65 a', '95 b'])
  await the.stop()
})

test('ADAPTER-22: when a report is taken, what could not be reported runs at once', async () => {
  let isAway = true
  const the = world(() => !isAway)
  for (const id of ['a', 'b', 'c']) the.unreported.record(eventOf(id), false)
  await the.clock.advance('16s')
  isAway = false
  await the.clock.advance('1h')
  expect(the.runs).toEqual(['5 a', '15 b', '35 c', '35 a', '35 b'])
  await the.stop()
})

test('ADAPTER-22: a run of any resource that is reported has the others run', async () => {
  const the = world(() => true)
  the.unreported.record(eventOf('a'), false)
  await the.clock.advance('1s')
  the.unreported.record(eventOf('other'), true)
  await the.clock.advance('1h')
  expect(the.runs).toEqual(['1 a'])
  await the.stop()
})

test('ADAPTER-22: one that is refused while others are reported is run ever less often for them, and forgotten after an hour', async () => {
  const the = world((id) => id !== 'refused')
  the.unreported.record(eventOf('refused'), false)
  for (let second = 0; second < 3_600; second++) {
    the.unreported.record(eventOf('other'), true)
    await the.clock.advance('1s')
  }
  const count = the.runs.length
  // Up to five minutes apart: 5 + 10 + 20 + 40 + 80 + 160 s, and eleven times five minutes.
  expect(count).toBeLessThan(20)
  the.unreported.record(eventOf('other'), true)
  await the.clock.advance('1h')
  const later = the.runs.length
  await the.clock.advance('1h')
  the.unreported.record(eventOf('other'), true)
  await the.clock.advance('1h')
  expect(the.runs.length).toBe(later)
  await the.stop()
})
