import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { systemClock } from '#operator/model/clock.ts'
import { postgresMissing, startPostgresPair } from '#test/harness/index.ts'
import { follow } from './follower.ts'
import { type Json, serve, type TestApi } from './support.ts'

const startPair = async (commit: 'synchronous' | 'asynchronous') => {
  const pair = await startPostgresPair(commit)
  onTestFinished(() => pair[Symbol.asyncDispose]())
  return pair
}

/** What callers were told: only this must not get lost. */
interface Acknowledged {
  /** Generation by the id of the cluster. */
  readonly generations: Map<string, number>
  readonly events: Set<string>
  /** Events whose acknowledgement was answered. */
  readonly done: Set<string>
  /** Statuses of what was refused. */
  readonly refused: Set<number>
}

/** Callers that write without a pause until the test is over or they are stopped. */
const startLoad = (apis: readonly TestApi[], callers: number) => {
  const known: Acknowledged = { generations: new Map(), events: new Set(), done: new Set(), refused: new Set() }
  const delivered = new Set<string>()
  let isStopped = false
  onTestFinished(() => {
    isStopped = true
  })
  const request = async (api: TestApi, ...call: Parameters<TestApi['call']>): Promise<Json> => {
    const answer = await api.call(...call)
    if (answer.status < 300) return answer.body ?? {}
    known.refused.add(answer.status)
    await delay(20)
    return undefined
  }
  const change = async (api: TestApi, name: string): Promise<void> => {
    const cluster = await request(api, 'POST', '/clusters', { name, spec: {} })
    if (cluster === undefined) return
    const { id } = cluster
    known.generations.set(id, 1)
    const changed = await request(api, 'PATCH', `/clusters/${id}`, { spec: { changed: true } })
    if (changed !== undefined) known.generations.set(id, changed.generation)
    const reported = await api.report(`/clusters/${id}`, { adapter: 'dns', observed_generation: 1 })
    if (reported.status >= 300) known.refused.add(reported.status)
    const event = await request(api, 'POST', '/events', { resourceType: 'clusters', resourceId: id, reason: 'New' })
    if (event !== undefined) known.events.add(event.id)
  }
  const consume = async (api: TestApi): Promise<void> => {
    const path = '/events/consumers/load/claims'
    const claims = await request(api, 'POST', path, { max: 5, wait: '1s', visibility: '2s' })
    // Looked at as they come: while one acknowledgement waits, another member may get and acknowledge the next.
    for (const { event } of claims?.items ?? [])
      expect(known.done.has(event.id), `${event.id} was acknowledged and is delivered again`).toBe(false)
    for (const { receipt, event } of claims?.items ?? []) {
      delivered.add(event.id)
      const { status } = await api.call('DELETE', `${path}/${receipt}`)
      if (status < 300) known.done.add(event.id)
      // Its visibility has ended meanwhile, or it was acknowledged although the answer was another: both are said.
      else if (status !== 409 && status !== 404) known.refused.add(status)
    }
  }
  const apiOf = (n: number) => apis[n % apis.length] as TestApi
  const loops = Array.from({ length: callers }, async (_, n) => {
    for (let count = 0; !isStopped; count += 1) await change(apiOf(n), `load-${n}-${count}`)
  })
  const consumers = apis.map(async (api) => {
    while (!isStopped || known.events.size > delivered.size) await consume(api)
  })
  // Looked at by stop, which a test that fails does not reach.
  Promise.all([...loops, ...consumers]).catch(() => undefined)
  return {
    known,
    /** Resolves when so many more clusters were made. */
    goesOn: async (count: number) => {
      const target = known.generations.size + count
      await expect.poll(() => known.generations.size, { timeout: 60_000 }).toBeGreaterThan(target)
    },
    /** Resolves when all that was posted was delivered. */
    stop: async () => {
      isStopped = true
      await Promise.all([...loops, ...consumers])
    },
  }
}

/** Within ten seconds it reads and writes again. */
const healed = async (api: TestApi, id: string): Promise<void> => {
  const isHealed = async () => [
    (await api.call('GET', `/clusters/${id}`)).status,
    (await api.call('PATCH', `/clusters/${id}`, { spec: { healed: true } })).status,
  ]
  await expect.poll(isHealed, { timeout: 10_000 }).toEqual([200, 200])
}

const allClusters = async (api: TestApi): Promise<Map<string, Json>> => {
  const found = new Map<string, Json>()
  for (let after = ''; ; ) {
    const { body } = await api.call('GET', `/clusters?after=${after}&size=100`)
    if (body.items.length === 0) return found
    for (const item of body.items) found.set(item.id, item)
    after = body.items.at(-1).id
  }
}

/** Ends the load: what it was told is stored, and streams have all of it. Nothing was refused but for the want of a database. */
const expectNothingLost = async (
  load: ReturnType<typeof startLoad>,
  api: TestApi,
  followers: readonly ReturnType<typeof follow>[],
): Promise<void> => {
  await load.stop()
  expect([...load.known.refused].filter((status) => status !== 503)).toEqual([])
  const stored = await allClusters(api)
  for (const [id, generation] of load.known.generations)
    expect(stored.get(id)?.generation, id).toBeGreaterThanOrEqual(generation)
  for (const follower of followers) await expect.poll(() => sorted(follower.copy)).toEqual(sorted(stored))
}

describe.skipIf(findPostgres() === undefined)(`a PostgreSQL that fails over${postgresMissing() ?? ''}`, () => {
  // API-70
  test('under load, there and back: what was acknowledged is there, streams are complete, and the API heals by itself', {
    timeout: 300_000,
  }, async () => {
    const pair = await startPair('synchronous')
    const health = { host: '127.0.0.1', port: 0 }
    const replicas = [
      await serve({ databaseUrl: pair.url, health }, systemClock),
      await serve({ databaseUrl: pair.url, health }, systemClock),
    ] as const
    const [first] = replicas
    await first.call('PUT', '/events/consumers/load', { resourceType: 'clusters', maxDeliveries: 100 })
    const followers = replicas.map(follow)
    const load = startLoad(replicas, 4)
    await load.goesOn(20)
    const existing = await first.cluster('before')
    for (const _direction of ['there', 'back']) {
      await pair.crash()
      // A standby that was not promoted yet is not asked.
      for (const method of ['GET', 'PATCH']) {
        const refused = await first.call(
          method,
          `/clusters/${existing.id}`,
          method === 'GET' ? undefined : { spec: {} },
        )
        expect([refused.status, refused.body.code]).toEqual([503, 'HYPERFLEET-SVC-001'])
      }
      await expect
        .poll(async () => {
          const ready = await fetch(`${first.healthUrl}/readyz`)
          return [ready.status, await ready.json()]
        })
        .toEqual([
          503,
          { status: 'not_ready', reason: 'the database takes no writes: it is a standby, or set read-only' },
        ])
      await pair.promote()
      await Promise.all(replicas.map((api) => healed(api, existing.id)))
      await load.goesOn(20)
      await pair.rebuild()
      await load.goesOn(20)
    }
    await expectNothingLost(load, first, followers)
  })

  // API-97
  test('and whose primary vanishes without a word, statements under way: they are given up, and the API heals by itself', {
    timeout: 300_000,
  }, async () => {
    const pair = await startPair('synchronous')
    const replicas = [
      await serve({ databaseUrl: pair.url }, systemClock),
      await serve({ databaseUrl: pair.url }, systemClock),
    ] as const
    const [first] = replicas
    await first.call('PUT', '/events/consumers/load', { resourceType: 'clusters', maxDeliveries: 100 })
    const followers = replicas.map(follow)
    const existing = await first.cluster('before')
    const load = startLoad(replicas, 4)
    await load.goesOn(10)
    await pair.crash('silent')
    await pair.promote()
    await Promise.all(replicas.map((api) => healed(api, existing.id)))
    await load.goesOn(10)
    await expectNothingLost(load, first, followers)
  })

  // API-70
  test('to a standby that has not replayed yet what was acknowledged: it says so, and never that nothing is there', async () => {
    const pair = await startPair('synchronous')
    const api = await serve({ databaseUrl: pair.url }, systemClock)
    await api.cluster('before')
    await pair.pauseReplay()
    const { id } = await api.cluster('acknowledged')
    await pair.crash()
    for (const path of [`/clusters/${id}`, '/clusters', '/clusters?labels=', '/clusters?watch=true'])
      expect([path, (await api.call('GET', path)).status]).toEqual([path, 503])
    await pair.promote()
    await healed(api, id)
  })

  // API-73
  test('that lost commits: watchers begin anew, and no version that they saw means another change', async () => {
    const pair = await startPair('asynchronous')
    const api = await serve({ databaseUrl: pair.url }, systemClock)
    const [lost, other] = [await api.cluster('lost'), await api.cluster('other')]
    const patch = (id: string, n: number) => api.call('PATCH', `/clusters/${id}`, { spec: { n } })
    const follower = follow(api)
    await pair.detach()
    // More than PostgreSQL writes ahead of a sequence: some of these versions are given out again.
    for (let n = 1; n <= 80; n += 1) await patch(lost.id, n)
    await expect.poll(() => follower.copy.get(lost.id)?.generation).toBe(81)
    const seen = (await api.call('GET', '/clusters')).headers.get('muster-resource-version')
    await pair.crash()
    await pair.promote()
    await expect.poll(async () => (await patch(other.id, 1)).status).toBe(200)
    for (let n = 2; n <= 5; n += 1) await patch(other.id, n)
    await expect.poll(() => follower.copy.get(other.id)?.generation).toBe(6)
    await expect.poll(() => follower.copy.get(lost.id)?.generation).toBe(1)
    expect((await api.call('GET', `/clusters?watch=true&resourceVersion=${seen}`)).status).toBe(410)
    // From here on it is one history again, through any restart of the API.
    const { restarts } = follower
    const second = await serve({ databaseUrl: pair.url }, systemClock)
    await second.call('PATCH', `/clusters/${other.id}`, { spec: { n: 6 } })
    await expect.poll(() => follower.copy.get(other.id)?.generation).toBe(7)
    expect(follower.restarts).toBe(restarts)
  })
})

const sorted = (copy: ReadonlyMap<string, Json>) =>
  [...copy.values()]
    .map(({ id, generation, status }) => ({ id, generation, status }))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
