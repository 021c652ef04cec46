import { describe, expect, test } from 'vitest'
import type { ReconcileEvent } from '../events/reconcile-event.ts'
import type { Delivery } from '../events/source.ts'
import { RunQueue, type WorkItem } from './run-queue.ts'

const event = (id: string, generation = 1): ReconcileEvent => ({
  id: `${id}.${generation}`,
  type: 't',
  traceparent: undefined,
  data: { id, generation },
})
const delivery = (of: ReconcileEvent): Delivery => ({
  event: of,
  acknowledge: async () => {},
  extend: async () => {},
  giveBack: async () => {},
  release: async () => {},
})

const world = (limit = 2) => {
  const begun: string[] = []
  const open = new Map<string, () => void>()
  const queue = new RunQueue({
    maxConcurrent: () => limit,
    onCapacity: () => {},
    work: ({ event: { data }, deliveries }: WorkItem) => {
      begun.push(`${data.id} ${JSON.stringify(data.generation)} (${deliveries.length})`)
      return new Promise((resolve) => open.set(data.id, resolve))
    },
  })
  const end = async (id: string) => {
    open.get(id)?.()
    await new Promise(setImmediate)
  }
  return { queue, begun, end, add: (of: ReconcileEvent) => queue.add(of, delivery(of)) }
}

describe('the queue', () => {
  test('ADAPTER-19: several events for one resource become one run, with the newest generation', async () => {
    const { begun, add, end } = world(1)
    add(event('a'))
    for (const generation of [1, 3, 2]) add(event('b', generation))
    await end('a')
    expect(begun).toEqual(['a 1 (1)', 'b 3 (3)'])
  })

  test('ADAPTER-19: runs for one resource never overlap; what comes meanwhile is one more run', async () => {
    const { begun, add, end, queue } = world()
    add(event('a', 1))
    add(event('a', 2))
    add(event('a', 3))
    expect(begun).toEqual(['a 1 (1)'])
    expect(queue.deliveries).toHaveLength(3)
    await end('a')
    expect(begun).toEqual(['a 1 (1)', 'a 3 (2)'])
    await end('a')
    expect([queue.running, queue.waiting, queue.deliveries.length]).toEqual([0, 0, 0])
  })

  test('ADAPTER-20: only so many run at the same time, in the order in which they came', async () => {
    const { begun, add, end } = world(2)
    for (const id of ['a', 'b', 'c', 'd']) add(event(id))
    expect(begun).toEqual(['a 1 (1)', 'b 1 (1)'])
    await end('b')
    expect(begun.at(-1)).toBe('c 1 (1)')
  })

  test('ADAPTER-20: a resource that waits for its own run delays no other', async () => {
    const { begun, add } = world(2)
    add(event('a'))
    add(event('a', 2))
    add(event('b'))
    expect(begun).toEqual(['a 1 (1)', 'b 1 (1)'])
  })

  test('closing begins nothing, waits for what runs and returns what waits', async () => {
    const { begun, add, end, queue } = world(1)
    add(event('a'))
    add(event('b'))
    const closing = queue.close()
    await end('a')
    expect((await closing).map(({ event: { data } }) => data.id)).toEqual(['b'])
    expect(begun).toEqual(['a 1 (1)'])
  })
})
