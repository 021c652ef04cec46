import { expect, test } from 'vitest'
import { MAX_REPORTING_ADAPTERS } from '#services/hyperfleet-api/model/report-room.ts'
import { inParallel, upTo } from '#test/bench/in-parallel.ts'
import { onBothDatabases, serve } from './support.ts'

const entities = [{ kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'] }] as const

/** A report of so many characters. */
const long = (adapter: string, length: number) => ({ adapter, data: { text: 'x'.repeat(length) } })

// API-153
onBothDatabases((fresh) => {
  const begin = async () => {
    const api = await serve({ ...(await fresh()), entities })
    const { id } = await api.cluster('one')
    const path = `/clusters/${id}`
    const sizeOf = async (): Promise<number> =>
      JSON.stringify((await api.call('GET', `${path}/statuses?size=100`)).body.items).length
    return { api, path, sizeOf }
  }

  test('reports about one resource have 2 MiB together: a longer one is refused and says what to do, a shorter one is taken', async () => {
    const { api, path, sizeOf } = await begin()
    for (const adapter of ['a', 'b', 'c'])
      expect((await api.report(path, long(adapter, 1_000_000))).status, adapter).toBe(201)
    const refused = await api.report(path, long('d', 20_000))
    expect([refused.status, refused.body.code]).toEqual([413, 'HYPERFLEET-LMT-006'])
    expect(refused.body.detail).toMatch(
      /^the reports about this resource have 300\d{4} characters: from 2097152 on no longer one is taken, except up to 16384 characters of an adapter that is required or has reported; report less in data, or let an administrator retire adapters that report no more \(DELETE …\/statuses\/\{adapter\}\)$/,
    )
    // What the resource needs to go on and to go: small reports of its adapters.
    expect((await api.report(path, { adapter: 'dns' })).status).toBe(201)
    expect((await api.report(path, long('dns', 20_000))).status).toBe(413)
    expect((await api.report(path, { adapter: 'stranger' })).status).toBe(413)
    expect(await sizeOf()).toBeLessThan(3_100_000)
    // An adapter makes room by reporting less, an administrator by retiring one.
    expect((await api.report(path, long('a', 10))).status).toBe(201)
    expect((await api.report(path, long('b', 900_000))).status).toBe(201)
    expect((await api.call('DELETE', `${path}/statuses/c`)).status).toBe(204)
    expect((await api.report(path, long('d', 20_000))).status).toBe(201)
  })

  test(`${MAX_REPORTING_ADAPTERS} adapters report about one resource, and the required ones`, async () => {
    const { api, path } = await begin()
    await inParallel(upTo(MAX_REPORTING_ADAPTERS), 8, async (n) => {
      expect((await api.report(path, { adapter: `adapter-${n}` })).status).toBe(201)
    })
    const refused = await api.report(path, { adapter: 'one-more' })
    expect([refused.status, refused.body.code]).toEqual([413, 'HYPERFLEET-LMT-006'])
    expect(refused.body.detail).toContain('100 adapters have reported about this resource')
    expect((await api.report(path, { adapter: 'dns' })).status).toBe(201)
    expect((await api.report(path, { adapter: 'adapter-7', available: 'False' })).status).toBe(201)
    expect((await api.call('DELETE', `${path}/statuses/adapter-7`)).status).toBe(204)
    expect((await api.call('DELETE', `${path}/statuses/adapter-8`)).status).toBe(204)
    expect((await api.report(path, { adapter: 'one-more' })).status).toBe(201)
  })
})
