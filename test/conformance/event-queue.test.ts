import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { type Clock, systemClock } from '#operator/model/clock.ts'
import type { ApiOptions } from '#services/hyperfleet-api/options.ts'
import { manualClock, postgresMissing, startNats } from '#test/harness/index.ts'
import { freshPostgres, type Json, serve, type TestApi, temporaryData } from '../integration/hyperfleet-api/support.ts'

/** What every event queue must do, whatever delivers: the database alone or JetStream. Skips carry a reason. */

interface World {
  readonly options: Partial<ApiOptions>
  readonly clock: Clock
  /** A visibility that ends while the test runs. */
  readonly short: { readonly text: string; end(): Promise<void> }
}

const LONG = '1h'

/** The database alone: no time passes but the test's. */
const alone = async (options: Partial<ApiOptions>): Promise<World> => {
  const clock = manualClock()
  return { options, clock, short: { text: '30s', end: () => clock.advance('30s') } }
}

/** With JetStream, whose clock can't be set. */
const jetStream = async (options: Partial<ApiOptions>): Promise<World> => {
  const nats = await startNats()
  onTestFinished(() => nats.stop())
  const short = { text: '1s', end: () => delay(1_000) }
  return { options: { ...options, natsUrl: nats.url }, clock: systemClock, short }
}

const QUEUES: Readonly<Record<string, { readonly begin: () => Promise<World>; readonly needsPostgres: boolean }>> = {
  'the queue in SQLite': { begin: async () => alone(await temporaryData()), needsPostgres: false },
  'the queue in PostgreSQL': { begin: async () => alone(await freshPostgres()), needsPostgres: true },
  'JetStream beside SQLite': { begin: async () => jetStream(await temporaryData()), needsPostgres: false },
  'JetStream beside PostgreSQL': { begin: async () => jetStream(await freshPostgres()), needsPostgres: true },
}

interface Claimed {
  readonly receipt: string
  readonly deliveries: number
  readonly event: Json
}

const reasonsOf = (claims: readonly Claimed[]): string[] => claims.map(({ event }) => event.data.reason)

/** What a test does with one API and one cluster. */
const verbs = (api: TestApi, cluster: { readonly id: string }) => {
  const path = (name: string) => `/events/consumers/${name}`
  const claim = async (name = 'dns', body: object = {}): Promise<Claimed[]> => {
    const answer = await api.call('POST', `${path(name)}/claims`, { visibility: LONG, wait: '60s', ...body })
    expect(answer.status).toBe(200)
    return answer.body.items
  }
  return {
    api,
    id: cluster.id,
    put: (name = 'dns', settings: object = {}) =>
      api.call('PUT', path(name), { resourceType: 'clusters', ...settings }),
    post: (reason: string, resourceId = cluster.id, resourceType = 'clusters') =>
      api.call('POST', '/events', { resourceType, resourceId, reason }),
    claim,
    /** Claims of a group, in the order they come, until there are so many. */
    claims: async (count: number, name = 'dns', body: object = {}): Promise<Claimed[]> => {
      const all: Claimed[] = []
      while (all.length < count) all.push(...(await claim(name, { max: 100, ...body })))
      return all
    },
    acknowledge: async ({ receipt }: Claimed, name = 'dns') =>
      (await api.call('DELETE', `${path(name)}/claims/${receipt}`)).status,
    extend: async ({ receipt }: Claimed, visibility: string, more: object = {}) =>
      (await api.call('PATCH', `${path('dns')}/claims/${receipt}`, { visibility, ...more })).status,
    giveUp: async ({ receipt }: Claimed) =>
      (await api.call('POST', `${path('dns')}/claims/${receipt}/dead-letter`)).status,
    deadLetters: async (): Promise<Json[]> => (await api.call('GET', `${path('dns')}/dead-letters`)).body.items,
    replay: async (id: string) => (await api.call('POST', `${path('dns')}/dead-letters/${id}/replay`)).status,
  }
}

for (const [name, { begin, needsPostgres }] of Object.entries(QUEUES)) {
  const missing = needsPostgres && findPostgres() === undefined
  describe.skipIf(missing)(missing ? `${name} (skipped: ${postgresMissing()})` : name, () => {
    const start = async () => {
      const world = await begin()
      const api = await serve(world.options, world.clock)
      const { id } = await api.cluster('one', { region: 'eu' })
      const queue = verbs(api, { id })
      await queue.put('dns', { maxDeliveries: 2 })
      return { world, ...queue }
    }

    /** Nothing comes but a marker that is posted now: what should not come would have come before it. */
    const onlyNext = async ({ post, claims }: Pick<ReturnType<typeof verbs>, 'post' | 'claims'>, group = 'dns') => {
      await post('Marker')
      expect(reasonsOf(await claims(1, group))).toEqual(['Marker'])
    }

    // API-34
    test('delivers every event, in the order in which they were posted', async () => {
      const { post, claims } = await start()
      const reasons = Array.from({ length: 30 }, (_, n) => `Reason${n}`)
      for (const reason of reasons) await post(reason)
      expect(reasonsOf(await claims(30, 'dns', { max: 7 }))).toEqual(reasons)
    })

    // API-34
    test('gives each group what its kind and selector choose', async () => {
      const { api, id, put, post, claims, ...rest } = await start()
      await put('eu', { labels: 'region in (eu)' })
      await put('us', { labels: 'region=us' })
      await put('pools', { resourceType: 'nodepools' })
      const pool = (await api.call('POST', `/clusters/${id}/nodepools`, { name: 'pool', spec: {} })).body
      const us = await api.cluster('two', { region: 'us' })
      await post('A')
      await post('B', us.id)
      await post('C', pool.id, 'nodepools')
      expect(reasonsOf(await claims(2))).toEqual(['A', 'B'])
      expect(reasonsOf(await claims(1, 'eu'))).toEqual(['A'])
      expect(reasonsOf(await claims(1, 'us'))).toEqual(['B'])
      const [event] = await claims(1, 'pools')
      expect(event?.event.data).toMatchObject({ reason: 'C', owner_references: { id, kind: 'Cluster' } })
      await onlyNext({ post, claims, ...rest }, 'eu')
    })

    test('gives a group what is posted after it was made, and nothing earlier', async () => {
      const { put, post, claims } = await start()
      await post('Before')
      await put('late')
      await post('After')
      expect(reasonsOf(await claims(2))).toEqual(['Before', 'After'])
      expect(reasonsOf(await claims(1, 'late'))).toEqual(['After'])
    })

    test('hides what is claimed, and never delivers again what is acknowledged', async () => {
      const { world, post, claims, claim, acknowledge, ...rest } = await start()
      await post('A')
      await post('B')
      const [a] = await claim('dns', { visibility: world.short.text })
      const [b] = await claim()
      expect([a?.event.data.reason, a?.deliveries, b?.event.data.reason]).toEqual(['A', 1, 'B'])
      expect(await acknowledge(b as Claimed)).toBe(204)
      expect(await acknowledge(b as Claimed)).toBe(404)
      await world.short.end()
      const [again] = await claim()
      expect(again).toMatchObject({ deliveries: 2, event: a?.event })
      expect(await acknowledge(again as Claimed)).toBe(204)
      await onlyNext({ post, claims, ...rest })
    })

    // API-35
    test('delivers again when the visibility ends, and an outdated receipt does nothing any more', async () => {
      const { world, post, claim, acknowledge, extend, ...rest } = await start()
      await post('A')
      const [first] = await claim('dns', { visibility: world.short.text })
      await world.short.end()
      expect(await acknowledge(first as Claimed)).toBe(409)
      const [second] = await claim()
      expect(second).toMatchObject({ deliveries: 2, event: first?.event })
      expect(await acknowledge(first as Claimed)).toBe(409)
      expect(await extend(first as Claimed, LONG)).toBe(409)
      expect(await acknowledge(second as Claimed)).toBe(204)
      expect(await acknowledge(first as Claimed)).toBe(404)
      await onlyNext({ post, ...rest })
    })

    test('an extension counts from now: it may be longer or shorter than what was left', async () => {
      const { world, post, claims, claim, extend, acknowledge } = await start()
      await post('A')
      await post('B')
      const [a, b] = await claims(2)
      expect(await extend(b as Claimed, world.short.text)).toBe(204)
      await world.short.end()
      const [again] = await claim()
      expect(again).toMatchObject({ deliveries: 2, event: b?.event })
      expect(await acknowledge(a as Claimed)).toBe(204)
    })

    test('given back, an event comes at once, and the receipt that gave it back is outdated', async () => {
      const { post, claim, extend, acknowledge } = await start()
      await post('A')
      const [first] = await claim()
      const waiting = claim()
      expect(await extend(first as Claimed, '0s')).toBe(204)
      const [second] = await waiting
      expect(second).toMatchObject({ deliveries: 2, event: first?.event })
      expect(await acknowledge(first as Claimed)).toBe(409)
    })

    // API-36
    test('an event that was delivered too often goes to the dead letters, and those after it come through', async () => {
      const { post, claim, claims, extend, deadLetters } = await start()
      await post('Poison')
      for (const deliveries of [1, 2]) {
        const [poison] = await claim()
        expect(poison).toMatchObject({ deliveries, event: { data: { reason: 'Poison' } } })
        await extend(poison as Claimed, '0s')
      }
      await post('Next')
      expect(reasonsOf(await claims(1, 'dns', { max: 1 }))).toEqual(['Next'])
      expect(await deadLetters()).toMatchObject([{ deliveries: 2, event: { data: { reason: 'Poison' } } }])
    })

    // API-36
    test('what is given back as unprocessed counts for nothing, however often; it comes at once, and what is kept hidden can’t be', async () => {
      const { post, claim, extend, deadLetters, ...rest } = await start()
      await post('Poison')
      for (let stop = 0; stop < 5; stop++) {
        const [held] = await claim()
        expect(held).toMatchObject({ deliveries: 1, event: { data: { reason: 'Poison' } } })
        expect(await extend(held as Claimed, '30s', { unprocessed: true })).toBe(400)
        expect(await extend(held as Claimed, '0s', { unprocessed: true })).toBe(204)
        expect(await extend(held as Claimed, '0s', { unprocessed: true })).toBe(409)
      }
      for (const deliveries of [1, 2]) {
        const [failing] = await claim()
        expect(failing?.deliveries).toBe(deliveries)
        await extend(failing as Claimed, '0s')
      }
      await onlyNext({ post, ...rest })
      expect(await deadLetters()).toMatchObject([{ deliveries: 2 }])
    })

    test('an event that is given up is a dead letter at once, for its group alone, and only by the receipt that holds it', async () => {
      const { put, post, claim, extend, giveUp, deadLetters, replay, claims, id, ...rest } = await start()
      await put('other')
      await post('Poison')
      const [outdated] = await claim()
      await extend(outdated as Claimed, '0s')
      const [poison] = await claim()
      expect(await giveUp(outdated as Claimed)).toBe(409)
      expect(await giveUp(poison as Claimed)).toBe(204)
      expect(await giveUp(poison as Claimed)).toBe(409)
      expect(await deadLetters()).toMatchObject([{ deliveries: 2, event: { data: { reason: 'Poison' } } }])
      await onlyNext({ post, claims, ...rest })
      expect(reasonsOf(await claims(1, 'other', { max: 1 }))).toEqual(['Poison'])
      expect(await replay(`${id}.1`)).toBe(204)
      expect(await claim()).toMatchObject([{ deliveries: 1, event: { replay: 1 } }])
    })

    // API-36
    test('a dead letter can be replayed: it comes marked, counted from one, and may die again', async () => {
      const { id, post, claim, extend, deadLetters, replay, claims, ...rest } = await start()
      await post('Poison')
      const die = async () => {
        for (const deliveries of [1, 2]) {
          const [poison] = await claim()
          expect(poison?.deliveries).toBe(deliveries)
          await extend(poison as Claimed, '0s')
        }
        await onlyNext({ post, claims, ...rest })
      }
      await die()
      expect(await replay(`${id}.1`)).toBe(204)
      expect(await replay(`${id}.1`)).toBe(404)
      expect(await deadLetters()).toEqual([])
      const [replayed] = await claim()
      expect(replayed).toMatchObject({ deliveries: 1, event: { id: `${id}.1`, replay: 1 } })
      await extend(replayed as Claimed, '0s')
      const [last] = await claim()
      await extend(last as Claimed, '0s')
      await onlyNext({ post, claims, ...rest })
      expect(await deadLetters()).toMatchObject([{ id: `${id}.1`, event: { replay: 1 } }])
      expect(await replay(`${id}.1`)).toBe(204)
      expect(await claim()).toMatchObject([{ deliveries: 1, event: { replay: 2 } }])
    })

    test('claimers at the same time never get one event together', async () => {
      const { post, claim } = await start()
      await Promise.all(Array.from({ length: 40 }, (_, n) => post(`Reason${n}`)))
      const events: string[] = []
      const claimer = async () => {
        while (events.length < 40) {
          const claims = await claim('dns', { max: 5, wait: '0s' })
          events.push(...claims.map(({ event }) => event.id))
          await delay(1)
        }
      }
      await Promise.all(Array.from({ length: 10 }, claimer))
      expect(new Set(events).size).toBe(40)
      expect(events).toHaveLength(40)
    })

    test('a waiting claim ends as soon as something comes', async () => {
      const { post, claim } = await start()
      const waiting = claim('dns', { max: 10, wait: '60s' })
      await post('A')
      expect(reasonsOf(await waiting)).toEqual(['A'])
    })

    test('a claimer that went away while it waited takes nothing with it', async () => {
      const { world, api, post, claims } = await start()
      const gone = new AbortController()
      const left = fetch(`${api.url}/api/hyperfleet/v1/events/consumers/dns/claims`, {
        method: 'POST',
        body: JSON.stringify({ wait: '60s', visibility: world.short.text }),
        signal: gone.signal,
      }).catch(() => 'left')
      await api.call('GET', '/clusters')
      gone.abort()
      expect(await left).toBe('left')
      await post('A')
      let isBack = false
      const back = claims(1).finally(() => {
        isBack = true
      })
      // The API may have given it out before it heard that the caller had gone, and any time after the post: then it is
      // back when that visibility ends.
      while (!isBack) {
        await world.short.end()
        await delay(10)
      }
      expect(reasonsOf(await back)).toEqual(['A'])
    })

    test('putting a group again changes it for what is posted then; what waits stays', async () => {
      const { api, id, put, post, claims } = await start()
      const pool = (await api.call('POST', `/clusters/${id}/nodepools`, { name: 'pool', spec: {} })).body
      expect((await put('dns', { maxDeliveries: 2 })).status).toBe(200)
      await post('Before')
      expect((await put('dns', { labels: 'region=us', maxDeliveries: 5 })).status).toBe(200)
      await post('Unwanted')
      expect((await put('dns', { resourceType: 'nodepools' })).status).toBe(200)
      await post('Unwanted2')
      await post('Pool', pool.id, 'nodepools')
      expect(reasonsOf(await claims(2))).toEqual(['Before', 'Pool'])
    })

    test('a deleted group is gone with its claims; made again it begins anew', async () => {
      const { api, put, post, claim, claims, acknowledge } = await start()
      await post('A')
      await post('B')
      const [a] = await claim()
      const path = '/events/consumers/dns'
      const [waiting, deleted] = await Promise.all([
        api.call('POST', `${path}/claims`, { wait: '0s', visibility: LONG }),
        api.call('DELETE', path),
      ])
      expect([200, 404]).toContain(waiting.status)
      expect(deleted.status).toBe(204)
      expect(await acknowledge(a as Claimed)).toBe(404)
      expect((await api.call('POST', `${path}/claims`, {})).status).toBe(404)
      expect((await api.call('DELETE', path)).status).toBe(404)
      expect((await put()).status).toBe(201)
      await post('C')
      expect(reasonsOf(await claims(1))).toEqual(['C'])
    })

    test('deleting a group ends a claim that waits', async () => {
      const { api } = await start()
      const waiting = api.call('POST', '/events/consumers/dns/claims', { wait: '60s' })
      await api.call('GET', '/clusters')
      await api.call('DELETE', '/events/consumers/dns')
      expect((await waiting).status).toBe(404)
    })

    // API-33
    test('equal events are one until a consumer takes it', async () => {
      const { post, claim, put, claims } = await start()
      const first = await post('A')
      const again = await Promise.all(Array.from({ length: 5 }, () => post('A')))
      for (const { status, body } of again) expect([status, body]).toEqual([200, first.body])
      await put('late')
      expect((await post('A')).status).toBe(200)
      // The group that was made since gets what answers its request.
      expect(reasonsOf(await claims(1, 'late'))).toEqual(['A'])
      expect((await post('A')).status).toBe(201)
      expect(await claims(2)).toHaveLength(2)
      expect((await post('A')).status).toBe(201)
      await claim()
    })

    test('a restart of the API loses nothing: receipts stay good, what waits is delivered', async () => {
      const { world, api, id, post, claims } = await start()
      await post('A')
      await post('B')
      const [a] = await claims(2)
      await post('C')
      await api.stop()
      const after = verbs(await serve(world.options, world.clock), { id })
      expect(await after.acknowledge(a as Claimed)).toBe(204)
      await after.post('D')
      expect(reasonsOf(await after.claims(2))).toEqual(['C', 'D'])
    })

    // An embedded database has one API.
    if (!needsPostgres) return
    test('any replica claims, acknowledges and wakes what waits at another', async () => {
      const { world, id, post, claim } = await start()
      const other = verbs(await serve(world.options, world.clock), { id })
      const waiting = other.claim()
      await post('A')
      const [a] = await waiting
      expect(a?.event.data.reason).toBe('A')
      expect(await verbs(other.api, { id }).acknowledge(a as Claimed)).toBe(204)
      await other.post('B')
      const [b] = await claim()
      expect(await other.acknowledge(b as Claimed)).toBe(204)
    })
  })
}
