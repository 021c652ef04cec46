/** Simple clients, written from the rules of docs/spec alone: a Sentinel and an adapter. */
import { expect, test } from 'vitest'
import { manualClock } from '#test/harness/index.ts'
import { conditionsOf, type Json, onBothDatabases, serve } from './support.ts'

const SECOND = 1_000
const BACKOFF = { ready: 30 * 60 * SECOND, notReady: 10 * SECOND }

/** The simplest decision: nothing but the phase and the time of the last report counts. */
const isDue = ({ phase, lastTransitionTime }: Json, now: Date): boolean =>
  now.getTime() >= Date.parse(lastTransitionTime ?? 0) + (phase === 'Ready' ? BACKOFF.ready : BACKOFF.notReady)

const mandatory = (Applied: string, Available: string, Health: string) =>
  Object.entries({ Applied, Available, Health }).map(([type, status]) => ({ type, status }))

onBothDatabases((fresh) => {
  const begin = async () => {
    const clock = manualClock('2026-01-31T12:00:00Z')
    const api = await serve({ ...(await fresh()) }, clock)
    const report = (path: string, adapter: string, observed_generation: number, conditions: Json) =>
      api.call('POST', `${path}/statuses`, { adapter, observed_generation, conditions })
    return { clock, api, call: api.call, report }
  }

  // API-20
  test('the Sentinel: fetches its shard by labels, decides by phase and last report, and posts events with a reason', async () => {
    const { clock, api, call, report } = await begin()
    const east = await api.cluster('one', { region: 'us-east' })
    await api.cluster('elsewhere', { region: 'us-west' })
    const path = `/clusters/${east.id}`
    /** One cycle of its loop: the resources that got an event. */
    const cycle = async (): Promise<string[]> => {
      const { items } = (await call('GET', '/clusters?labels=region=us-east')).body
      const due = items.filter(({ status }: Json) => isDue(status, clock.now()))
      for (const { id } of due) {
        const event = { resourceType: 'clusters', resourceId: id, reason: 'BackoffExpired' }
        expect((await call('POST', '/events', event)).status).toBeOneOf([200, 201])
      }
      return due.map(({ name }: Json) => name)
    }

    // No adapter has reported yet: at once.
    expect(await cycle()).toEqual(['one'])
    await report(path, 'dns', 1, mandatory('True', 'False', 'True'))
    expect(await cycle()).toEqual([])
    await clock.advance('10s')
    expect(await cycle()).toEqual(['one'])
    await report(path, 'dns', 1, mandatory('True', 'True', 'True'))
    await clock.advance('10s')
    expect(await cycle()).toEqual([])
    await clock.advance('30m')
    expect(await cycle()).toEqual(['one'])
    // A change makes it NotReady at once, and its last report is old.
    await report(path, 'dns', 1, mandatory('True', 'True', 'True'))
    await clock.advance('1m')
    await call('PATCH', path, { spec: { version: '4.21' } })
    expect(await cycle()).toEqual(['one'])
    await call('DELETE', path)
    expect((await call('GET', path)).body.status.phase).not.toBe('Ready')
    expect(await cycle()).toEqual(['one'])
  })

  test('every kind of selector that a SentinelConfig can have chooses its shard', async () => {
    const { api, call } = await begin()
    await api.cluster('east', { region: 'us-east', tier: 'gold' })
    await api.cluster('west', { region: 'us-west' })
    await api.cluster('nowhere')
    const names = async (selector: string) =>
      (await call('GET', `/clusters?labels=${encodeURIComponent(selector)}`)).body.items
        .map(({ name }: Json) => name)
        .toSorted()
    expect(await names('')).toEqual(['east', 'nowhere', 'west'])
    expect(await names('region=us-east,tier=gold')).toEqual(['east'])
    expect(await names('region in (us-east,us-west)')).toEqual(['east', 'west'])
    expect(await names('region notin (us-east)')).toEqual(['nowhere', 'west'])
    expect(await names('tier')).toEqual(['east'])
    expect(await names('!tier')).toEqual(['nowhere', 'west'])
  })

  test('the adapter: reports by POST while its Job runs, then that it is available', async () => {
    const { api, call, report } = await begin()
    const { id } = await api.cluster('one')
    const path = `/clusters/${id}`
    expect((await report(path, 'dns', 1, mandatory('True', 'Unknown', 'True'))).status).toBe(201)
    expect((await report(path, 'dns', 1, mandatory('True', 'Unknown', 'True'))).status).toBe(204)
    expect(conditionsOf((await call('GET', path)).body)).toMatchObject({
      Available: { status: 'False' },
      Ready: { status: 'False' },
    })
    expect((await report(path, 'dns', 1, mandatory('True', 'True', 'True'))).status).toBe(201)
    expect(conditionsOf((await call('GET', path)).body)).toMatchObject({
      Available: { status: 'True', observed_generation: 1 },
      Ready: { status: 'True', observed_generation: 1 },
    })
  })

  // API-28
  test('the adapter: sees deleted_at, cleans up, and the record goes when the pool and every adapter have let it', async () => {
    const { clock, api, call, report } = await begin()
    const { id } = await api.cluster('one')
    const path = `/clusters/${id}`
    const pool = (await call('POST', `${path}/nodepools`, { name: 'pool', spec: {} })).body
    const poolPath = `/nodepools/${pool.id}`
    for (const [at, adapter] of [
      [path, 'dns'],
      [path, 'network'],
      [poolPath, 'machines'],
    ] as const)
      await report(at, adapter, 1, mandatory('True', 'True', 'True'))
    expect((await call('GET', path)).body).not.toHaveProperty('deleted_at')

    await clock.advance('1m')
    expect((await call('DELETE', path)).status).toBe(202)
    for (const at of [path, poolPath]) {
      const { body } = await call('GET', at)
      expect(body).toMatchObject({ generation: 2, deleted_at: '2026-01-31T12:01:00.000000Z' })
      expect(conditionsOf(body).Ready).toMatchObject({ status: 'False', reason: 'Deleting' })
    }
    expect((await call('PATCH', path, { spec: {} })).status).toBe(409)

    await report(path, 'dns', 2, mandatory('False', 'False', 'True'))
    await report(path, 'network', 2, mandatory('True', 'False', 'False'))
    expect((await call('GET', path)).body.status.awaited).toEqual(['network'])
    await report(path, 'network', 2, mandatory('False', 'False', 'True'))
    expect((await call('GET', path)).status).toBe(200)
    await report(poolPath, 'machines', 2, mandatory('False', 'False', 'True'))
    expect((await call('GET', poolPath)).status).toBe(404)
    expect((await call('GET', path)).status).toBe(404)
  })
})
