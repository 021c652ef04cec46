/** When an event is given up, by both sources of events, on real servers: each delivery is another manager's. */
import { jetstream } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { apiQueueSource } from '#controllers/adapter/events/api-queue.ts'
import { listDeadLetters } from '#controllers/adapter/events/dead-letters.ts'
import { jetStreamSource } from '#controllers/adapter/events/jetstream.ts'
import type { Delivery, EventSource, SourceOptions } from '#controllers/adapter/events/source.ts'
import { HttpClient } from '#controllers/adapter/http/client.ts'
import { openHttpConnection } from '#controllers/adapter/http/connection.ts'
import { systemClock } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { start } from '#services/hyperfleet-api/start.ts'
import { repetitions } from '#test/harness/deep.ts'
import { startNats } from '#test/harness/index.ts'

const MAX_DELIVERIES = 3
const PATIENCE = { timeout: 20_000, interval: 20 }

/** Where events are posted, and what of them is given up. */
interface Server extends AsyncDisposable {
  open(consumer: string): { readonly source: EventSource; close(): Promise<void> }
  post(consumer: string): Promise<void>
  /** How often it counts as delivered, of each dead letter. */
  deadLetters(consumer: string): Promise<readonly number[]>
}

const settings = (consumer: string): SourceOptions => ({
  consumer,
  resourceType: 'clusters',
  visibilityMs: 300,
  maxDeliveries: MAX_DELIVERIES,
  onDeadLetter: () => {},
})

const apiServer = async (): Promise<Server> => {
  const api = await start({ listen: { host: '127.0.0.1', port: 0 }, clock: systemClock, log: silent })
  const call = async (method: string, path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${api.url}/api/hyperfleet/v1${path}`, {
      method,
      ...(body && { headers, body: JSON.stringify(body) }),
    })
    return (await answer.json()) as { readonly id: string; readonly items: readonly { readonly deliveries: number }[] }
  }
  const { id } = await call('POST', '/clusters', { kind: 'Cluster', name: 'one', spec: {} })
  return {
    open: (consumer) => {
      const connection = openHttpConnection({ base: api.url, userAgent: 'test' })
      const caller = new HttpClient({ roundTrip: connection.roundTrip, clock: systemClock, timeoutMs: 10_000 })
      const source = apiQueueSource({ ...settings(consumer), caller, selector: '' })
      return { source, close: () => connection.close() }
    },
    post: async (consumer) => {
      await call('POST', '/events', { resourceType: 'clusters', resourceId: id, reason: consumer })
    },
    deadLetters: async (consumer) =>
      (await call('GET', `/events/consumers/${consumer}/dead-letters`)).items.map(({ deliveries }) => deliveries),
    [Symbol.asyncDispose]: () => api.stop(),
  }
}

const natsServer = async (): Promise<Server> => {
  const nats = await startNats()
  const connection: NatsConnection = await connect({ servers: nats.url })
  const api = await start({
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemClock,
    log: silent,
    natsUrl: nats.url,
  })
  return {
    open: (consumer) => {
      const source = jetStreamSource({ ...settings(consumer), resourceType: consumer, url: nats.url, name: 'test' })
      return { source, close: () => source.close() }
    },
    post: async (consumer) => {
      const event = { specversion: '1.0', id: consumer, type: 'com.example', data: { id: 'one' } }
      await jetstream(connection).publish(`hyperfleet.events.${consumer}`, JSON.stringify(event))
    },
    deadLetters: async (consumer) =>
      (await listDeadLetters(connection, consumer, 10)).map(({ deliveries }) => deliveries),
    [Symbol.asyncDispose]: async () => {
      await connection.close()
      await api.stop()
      await nats.stop()
    },
  }
}

/** What becomes of a delivery: its run can't be reported, its manager is told to stop, or is killed. */
const FATES = ['fails', 'is stopped', 'is killed'] as const

describe.each([
  ['the API', apiServer],
  ['JetStream', natsServer],
])('%s', (_name, serve) => {
  let server: Server
  let groups = 0
  beforeAll(async () => {
    server = await serve()
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  /** Another manager takes from the group until the work is done. */
  const withManager = async <T>(consumer: string, work: (source: EventSource, signal: AbortSignal) => Promise<T>) => {
    const { source, close } = server.open(consumer)
    const end = new AbortController()
    try {
      await source.open(end.signal)
      return await work(source, end.signal)
    } finally {
      end.abort()
      await close()
    }
  }
  const takeOne = async (source: EventSource, signal: AbortSignal): Promise<Delivery> => {
    for (;;) {
      const [delivery] = await source.take(1, signal)
      if (delivery !== undefined) return delivery
    }
  }

  test('ADAPTER-22: an event is given up after so many deliveries that were not acknowledged; what stopped managers give back does not count', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...FATES), { minLength: 1, maxLength: 9 }), async (fates) => {
        const consumer = `group-${++groups}`
        await withManager(consumer, async () => server.post(consumer))
        let counted = 0
        let isDead = false
        for (const fate of fates) {
          counted += fate === 'is stopped' ? 0 : 1
          await withManager(consumer, async (source, signal) => {
            const delivery = await takeOne(source, signal)
            if (fate === 'is stopped') await delivery.release()
            else if (fate === 'fails') await delivery.giveBack(1)
          })
          isDead = counted >= MAX_DELIVERIES
          if (isDead) break
        }
        const deadLetters = () => server.deadLetters(consumer)
        await withManager(consumer, async (source, signal) => {
          const next = source.take(1, signal).catch(() => [])
          if (isDead) await vi.waitFor(async () => expect(await deadLetters()).toEqual([MAX_DELIVERIES]), PATIENCE)
          else {
            expect(await next).toHaveLength(1)
            expect(await deadLetters()).toEqual([])
          }
        })
      }),
      { numRuns: repetitions({ deep: 100, slice: 12 }), examples: [[Array(9).fill('is stopped')]] },
    )
  }, 240_000)
})
