import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '#operator/model/clock.ts'
import { openDatabase } from '../storage/database.ts'
import { createRoom } from '../storage/room.ts'
import type { Change } from './changes.ts'
import type { Feed, Subscriber } from './feed.ts'
import { createLiveMessages } from './live-messages.ts'
import type { Sink } from './sink.ts'
import { watch } from './watch.ts'

const CHANGE: Change = {
  version: 1,
  type: 'added',
  kind: 'Cluster',
  ownerId: undefined,
  labelsBefore: {},
  labels: {},
  document: '{"id":"one"}',
}

/** Nothing has changed until its head was looked at so many times; then something has, as soon as the looker waits for anything. */
const feedThatMoves = (looks: number): Feed => {
  const subscribers = new Set<Subscriber>()
  let head = 0
  let looked = 0
  const publish = () => {
    head = CHANGE.version
    for (const subscriber of subscribers) subscriber.change(CHANGE)
  }
  return {
    get head() {
      looked += 1
      if (looked === looks) queueMicrotask(publish)
      return head
    },
    subscribe: (subscriber) => {
      subscribers.add(subscriber)
      return () => subscribers.delete(subscriber)
    },
    catchUp: async () => {},
    close: async () => {},
  }
}

// API-38
test.each([1, 2])(
  'a change that comes while a watch goes over to what comes is told once: at look %s',
  async (looks) => {
    const database = await openDatabase({ onError: () => {} })
    onTestFinished(() => database.close())
    const { labelsBefore, ownerId, ...row } = CHANGE
    await database.kysely
      .insertInto('changes')
      .values({
        ...row,
        owner_id: ownerId ?? null,
        labels_before: JSON.stringify(labelsBefore),
        labels: '{}',
        resource_id: 'one',
        time: '2026-01-01T00:00:00Z',
      } as never)
      .execute()
    const leaving = new AbortController()
    const told: string[] = []
    const sink: Sink = {
      cutOff: () => false,
      signal: leaving.signal,
      caller: 'one',
      drained: async () => {},
      write: (bytes, delivered) => {
        told.push(String(bytes))
        delivered?.()
        return 0
      },
    }
    const sources = {
      database,
      feed: feedThatMoves(looks),
      room: createRoom(1_000, systemClock),
      live: createLiveMessages(1_000),
    }
    const subscription = { kind: 'Cluster', selector: [], fields: undefined, projection: undefined, position: String }
    const watching = watch(sources, subscription, 0, sink)
    await new Promise((resolve) => setTimeout(resolve, 50))
    leaving.abort()
    await watching
    expect(told.filter((message) => message.startsWith('event: added'))).toHaveLength(1)
  },
)
