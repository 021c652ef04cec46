import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { manualClock } from '#test/harness/clock.ts'
import { monotonic } from '../model/clock.ts'
import { createDelayingQueue } from './delaying-queue.ts'
import { createKeyedQueue, type QueueOptions } from './keyed-queue.ts'

/** A queue whose work ends when the test says so. */
const workshop = (options: Partial<QueueOptions> = {}) => {
  const clock = manualClock()
  const begun: string[] = []
  const ends = new Map<string, { resolve(after?: number): void; reject(error: unknown): void }>()
  const errors: string[] = []
  const queue = createKeyedQueue({
    concurrency: 2,
    errorDelays: [1000, 5000],
    random: () => 0,
    clock,
    work: (key) => {
      begun.push(key)
      const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
      ends.set(key, { resolve, reject })
      return promise
    },
    onError: (key, _error, failures, delay) => void errors.push(`${key} ${failures} ${delay}`),
    ...options,
  })
  return {
    clock,
    queue,
    begun,
    errors,
    end: async (key: string, after?: number) => {
      ends.get(key)?.resolve(after)
      await turn()
    },
    fail: async (key: string) => {
      ends.get(key)?.reject(new Error('broken'))
      await turn()
    },
  }
}

describe('the queue', () => {
  it('works on keys in order, on as many at once as it may', async () => {
    const { queue, begun, end } = workshop()
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key)
    expect(begun).toEqual(['a', 'b'])
    await end('b')
    expect(begun).toEqual(['a', 'b', 'c'])
    await end('a')
    expect(begun).toEqual(['a', 'b', 'c', 'd'])
  })

  // RUNTIME-23
  it.each([
    [0, 1_000],
    [0.5, 1_100],
    [0.999, 1_199.8],
  ])(
    'tries again after its delay, and up to a fifth later by chance (%d): those that failed together come apart',
    async (chance, delay) => {
      const { queue, clock, begun, errors, fail } = workshop({ random: () => chance })
      queue.add('a')
      await fail('a')
      expect(errors).toEqual([`a 1 ${delay}`])
      await clock.advance(delay - 1)
      expect(begun).toHaveLength(1)
      await clock.advance(1)
      expect(begun).toHaveLength(2)
    },
  )

  // RUNTIME-2
  it('never works on a key twice at once, and once more when it was added meanwhile, however often', async () => {
    const { queue, begun, end } = workshop()
    queue.add('a')
    for (let times = 0; times < 3; times += 1) queue.add('a')
    expect(begun).toEqual(['a'])
    await end('a')
    expect(begun).toEqual(['a', 'a'])
    await end('a')
    expect(begun).toEqual(['a', 'a'])
  })

  it('takes a key once that was added twice while it waited', async () => {
    const { queue, begun, end } = workshop({ concurrency: 1 })
    for (const key of ['a', 'b', 'b']) queue.add(key)
    expect(queue.length).toBe(1)
    await end('a')
    await end('b')
    expect(begun).toEqual(['a', 'b'])
  })

  it('comes back to a key after the time it asked for, or earlier when it is added', async () => {
    const { queue, begun, end, clock } = workshop()
    queue.add('a')
    await end('a', 10_000)
    await clock.advance('9s')
    expect(begun).toEqual(['a'])
    await clock.advance('1s')
    expect(begun).toEqual(['a', 'a'])
    await end('a', 10_000)
    queue.add('a')
    expect(begun).toHaveLength(3)
    await end('a')
    await clock.advance('1m')
    expect(begun).toHaveLength(3)
  })

  it('waits longer after each failure in a row, and new events do not shorten that', async () => {
    const { queue, begun, errors, end, fail, clock } = workshop()
    queue.add('a')
    queue.add('a')
    await fail('a')
    queue.add('a')
    await clock.advance('999ms')
    expect(begun).toHaveLength(1)
    await clock.advance('1ms')
    expect(begun).toHaveLength(2)
    await fail('a')
    await clock.advance('5s')
    await fail('a')
    await clock.advance('5s')
    await end('a')
    queue.add('a')
    await fail('a')
    expect(errors).toEqual(['a 1 1000', 'a 2 5000', 'a 3 5000', 'a 1 1000'])
  })

  it('stops when what is in work is done, and begins nothing more', async () => {
    const { queue, begun, end, clock } = workshop({ concurrency: 1 })
    queue.add('a')
    queue.add('b')
    let stopped = false
    const stopping = queue.stop().then(() => {
      stopped = true
    })
    queue.add('c')
    await turn()
    expect(stopped).toBe(false)
    await end('a', 1000)
    await stopping
    await clock.advance('1m')
    expect(begun).toEqual(['a'])
    expect(clock.sleepers()).toBe(0)
  })

  it('tells what is counted', async () => {
    const metricCalls: string[] = []
    let ages: () => readonly number[] = () => []
    const { queue, end, clock } = workshop({
      concurrency: 1,
      metrics: {
        added: () => void metricCalls.push('added'),
        depth: (length) => void metricCalls.push(`depth ${length}`),
        queued: (seconds) => void metricCalls.push(`queued ${seconds}`),
        worked: (seconds) => void metricCalls.push(`worked ${seconds}`),
        retried: () => void metricCalls.push('retried'),
        inWork: (ask) => {
          ages = ask
        },
      },
      onActive: (keys) => void metricCalls.push(`active ${keys}`),
    })
    queue.add('a')
    queue.add('b')
    await clock.advance('2s')
    expect(ages()).toEqual([2])
    await end('a')
    expect(metricCalls.join(', ')).toBe(
      'added, depth 1, queued 0, depth 0, active 1, added, depth 1, worked 2, active 0, queued 2, depth 0, active 1',
    )
  })
})

describe('delays', () => {
  it('tell each key once, in the order of their times, with one timer', async () => {
    const clock = manualClock()
    const due: string[] = []
    const delays = createDelayingQueue(clock, (key) => void due.push(key))
    const start = monotonic(clock)
    for (const [key, seconds] of [
      ['c', 30],
      ['a', 10],
      ['d', 40],
      ['b', 20],
      ['e', 50],
    ] as const) {
      delays.set(key, start + seconds * 1000)
    }
    delays.set('e', start + 15_000)
    delays.delete('d')
    await clock.advance('12s')
    expect(due).toEqual(['a'])
    expect(clock.sleepers()).toBe(1)
    await clock.advance('1m')
    expect(due).toEqual(['a', 'e', 'b', 'c'])
    expect(clock.sleepers()).toBe(0)
  })

  it('are as long as they were meant when the time of the machine is set, back or forward', async () => {
    const { clock, queue, begun, end } = workshop()
    for (const key of ['hour', 'minute']) queue.add(key)
    await end('hour', 3_600_000)
    await end('minute', 60_000)
    clock.set(-600_000)
    await clock.advance('59s')
    expect(begun).toEqual(['hour', 'minute'])
    await clock.advance('1s')
    expect(begun.slice(2)).toEqual(['minute'])
    clock.set(7_200_000)
    await end('minute', 1_000)
    await clock.advance('1s')
    expect(begun.slice(3)).toEqual(['minute'])
  })

  it('longer than any timer of Node.js are kept', async () => {
    const clock = manualClock()
    const due: string[] = []
    const delays = createDelayingQueue(clock, (key) => void due.push(key))
    delays.set('late', monotonic(clock) + 40 * 24 * 3_600_000)
    await clock.advance('959h')
    expect(due).toEqual([])
    await clock.advance('1h')
    expect(due).toEqual(['late'])
  })
})
