import { describe, expect, test } from 'vitest'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { manualClock } from '#test/harness/clock.ts'
import type { DuePulse } from '../decision/schedule.ts'
import { createPublisher } from './publisher.ts'

const due = (id: string): DuePulse => ({ id, reason: 'New', generation: 1, deleting: false })

/** A publisher whose sends end when the test says so. */
const setUp = () => {
  const clock = manualClock()
  const flying = new Map<string, PromiseWithResolvers<void>>()
  const outcomes: string[] = []
  const stop = new AbortController()
  const publisher = createPublisher(
    {
      send: ({ id }) => {
        const promise = Promise.withResolvers<void>()
        flying.set(id, promise)
        return promise.promise
      },
      sent: ({ id }) => outcomes.push(`${id} sent`),
      failed: ({ id }, error) => outcomes.push(`${id} failed: ${(error as Error).message}`),
      capacityFreed: () => {},
    },
    clock,
    stop.signal,
  )
  const flush = () => new Promise((resolve) => setImmediate(resolve))
  return { clock, flying, outcomes, stop, publisher, settle: flush }
}

// SENTINEL-14
test('there is room for eight pulses at a time', async () => {
  const { publisher, flying, settle } = setUp()
  let sent = 0
  while (publisher.hasCapacity) publisher.send(due(`${sent++}`))
  expect(sent).toBe(8)
  flying.get('0')?.resolve()
  await settle()
  expect(publisher.hasCapacity).toBe(true)
})

test('one that fails is reported as failed, and the others as sent', async () => {
  const { publisher, flying, outcomes, settle } = setUp()
  for (const id of ['a', 'b', 'c']) publisher.send(due(id))
  flying.get('b')?.reject(new HyperFleetError('APIUnreachable', '500'))
  flying.get('c')?.resolve()
  flying.get('a')?.resolve()
  await settle()
  expect(outcomes.toSorted()).toEqual(['a sent', 'b failed: 500', 'c sent'])
})

describe('Retry-After', () => {
  test('closes for everyone until it is over', async () => {
    const { publisher, flying, clock, settle } = setUp()
    publisher.send(due('a'))
    flying.get('a')?.reject(new HyperFleetError('APIUnreachable', '429', { status: 429, retryAfter: 7_000 }))
    await settle()
    expect(publisher.hasCapacity).toBe(false)
    await clock.advance('6999ms')
    expect(publisher.hasCapacity).toBe(false)
    await clock.advance('1ms')
    await settle()
    expect(publisher.hasCapacity).toBe(true)
  })
})

test('after the stop nothing is sent, and what was under way counts neither as sent nor as failed', async () => {
  const { publisher, flying, outcomes, stop, settle } = setUp()
  publisher.send(due('a'))
  publisher.send(due('b'))
  stop.abort()
  expect(publisher.hasCapacity).toBe(false)
  flying.get('a')?.resolve()
  flying.get('b')?.reject(new Error('aborted'))
  await settle()
  expect(outcomes).toEqual([])
})
