import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { openDatabaseClock } from '#services/hyperfleet-api/storage/database-clock.ts'
import { deleteExpired } from '#services/hyperfleet-api/storage/retention.ts'
import { postgresMissing, startMuster } from '#test/harness/index.ts'
import { skewedBy } from '#test/harness/skew.ts'
import { freshPostgres, type Json, requestTo } from './support.ts'

const HOUR_MS = 3_600_000
const NOWHERE = ['--bind-address=127.0.0.1:0', '--metrics-bind-address=0', '--health-probe-bind-address=0']

/** A replica whose machine's clock is off. */
const replica = async (databaseUrl: string, skew: number) => {
  const api = await startMuster(['api', ...NOWHERE, `--database-url=${databaseUrl}`], skewedBy(skew))
  onTestFinished(() => api.stop().then(() => undefined))
  const { url, time } = await api.line('the HyperFleet API is serving')
  const call = requestTo(`${String(url)}/api/hyperfleet/v1`)
  const path = '/events/consumers/dns'
  return {
    /** What its log says of the time. */
    clock: Date.parse(time),
    call,
    url: `${String(url)}/api/hyperfleet/v1`,
    post: (id: string, reason: string) => call('POST', '/events', { resourceType: 'clusters', resourceId: id, reason }),
    claim: async (body: object = {}): Promise<Json[]> =>
      (await call('POST', `${path}/claims`, { visibility: '10m', ...body })).body.items,
    extend: async (receipt: string) => (await call('PATCH', `${path}/claims/${receipt}`, { visibility: '20m' })).status,
    acknowledge: async (receipt: string) => (await call('DELETE', `${path}/claims/${receipt}`)).status,
  }
}

describe.skipIf(findPostgres() === undefined)(`replicas whose clocks are hours apart ${postgresMissing()}`, () => {
  // API-75
  test('hand out no event that another holds, take each other’s receipts, and deliver again when the time is over', async () => {
    const { databaseUrl } = await freshPostgres()
    const [right, ahead, behind] = [
      await replica(databaseUrl, 0),
      await replica(databaseUrl, HOUR_MS),
      await replica(databaseUrl, -HOUR_MS),
    ]
    expect(ahead.clock - right.clock).toBeGreaterThan(HOUR_MS / 2)
    expect(right.clock - behind.clock).toBeGreaterThan(HOUR_MS / 2)
    await right.call('PUT', '/events/consumers/dns', { resourceType: 'clusters', maxDeliveries: 3 })
    const { id } = (await right.call('POST', '/clusters', { name: 'one', spec: {} })).body
    const all = [right, ahead, behind]
    for (const claimer of all) {
      const poster = all[(all.indexOf(claimer) + 1) % 3] as typeof right
      await poster.post(id, 'Held')
      const [held] = await claimer.claim()
      expect(held).toMatchObject({ deliveries: 1, event: { data: { reason: 'Held' } } })
      for (const other of all) expect(await other.claim()).toEqual([])
      for (const other of all) expect(await other.extend(held.receipt)).toBe(204)
      expect(await poster.acknowledge(held.receipt)).toBe(204)
    }
    for (const claimer of all) {
      await claimer.post(id, 'Short')
      const [short] = await claimer.claim({ visibility: '1s' })
      const other = all[(all.indexOf(claimer) + 1) % 3] as typeof right
      const [again] = await other.claim({ wait: '30s' })
      expect(again).toMatchObject({ deliveries: 2, event: { id: short.event.id } })
      expect(await claimer.acknowledge(short.receipt)).toBe(409)
      expect(await claimer.acknowledge(again.receipt)).toBe(204)
    }
    expect((await right.call('GET', '/events/consumers/dns/dead-letters')).body.items).toEqual([])
  })

  // API-95, API-122
  test('write the time of the database, and forget nothing early', async () => {
    const { databaseUrl } = await freshPostgres()
    const [ahead, behind] = [await replica(databaseUrl, 80 * HOUR_MS), await replica(databaseUrl, -80 * HOUR_MS)]
    const { headers } = await ahead.call('GET', '/clusters')
    const made = [
      (await ahead.call('POST', '/clusters', { name: 'ahead', spec: {} })).body,
      (await behind.call('POST', '/clusters', { name: 'behind', spec: {} })).body,
    ]
    const isNow = (time: string) => Math.abs(Date.parse(time) - Date.now()) < HOUR_MS / 2
    expect(made.map(({ created_time }) => isNow(created_time))).toEqual([true, true])
    expect(isNow(headers.get('date') ?? '')).toBe(true)
    await behind.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
    expect((await behind.post(made[0].id, 'New')).status).toBe(201)
    // A report's time is checked by it, too.
    const conditions = ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' }))
    const report = { adapter: 'dns', observed_generation: 1, observed_time: new Date().toISOString(), conditions }
    expect((await behind.call('PUT', `/clusters/${made[1].id}/statuses`, report)).status).toBe(201)
    // As every replica does each minute, here by one whose own clock is days ahead.
    const database = await openDatabase({ databaseUrl, onError: () => {} })
    onTestFinished(() => database.close())
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 100 * HOUR_MS })
    onTestFinished(() => void vi.useRealTimers())
    const clock = await openDatabaseClock(database, systemClock, silent)
    onTestFinished(() => clock.close())
    await deleteExpired(database, clock.now())
    vi.useRealTimers()
    const from = headers.get('muster-resource-version')
    const watched = await fetch(`${ahead.url}/clusters?watch=true&resourceVersion=${from}`)
    expect(watched.status).toBe(200)
    await watched.body?.cancel()
    expect(await ahead.claim()).toMatchObject([{ event: { data: { id: made[0].id } } }])
  })

  // API-53
  test('agree on where an event is in its queue', async () => {
    const { databaseUrl } = await freshPostgres()
    const [right, ahead] = [await replica(databaseUrl, 0), await replica(databaseUrl, HOUR_MS)]
    await right.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
    const { id } = (await right.call('POST', '/clusters', { name: 'one', spec: {} })).body
    await right.post(id, 'Held')
    expect(await right.claim()).toHaveLength(1)
    for (const one of [right, ahead])
      expect((await one.call('GET', `/clusters/${id}/explain`)).body.queue).toMatchObject([{ state: 'Taken' }])
  })
})
