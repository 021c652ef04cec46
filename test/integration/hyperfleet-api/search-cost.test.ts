/** What a search may cost the process that answers it (API-99). */
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { parseSearch } from '#services/hyperfleet-api/search/parse-search.ts'
import type { Search } from '#services/hyperfleet-api/search/search-tree.ts'
import { compileFilter } from '#services/hyperfleet-api/storage/compile-filter.ts'
import { IN_TIME } from '#services/hyperfleet-api/storage/search-time.ts'
import { bearer, testIssuer } from './issuer.ts'
import { printSearch } from './search/print.ts'
import { searches } from './search/trees.ts'
import { onBothDatabases, serve } from './support.ts'

/** Whether what one row costs grows with what is stored there: a spec is read as a whole, a pattern is tried everywhere. */
const isCostly = (leaf: Extract<Search, { type: 'test' | 'missing' }>): boolean =>
  leaf.operand.type === 'spec' || (leaf.type === 'test' && ['like', 'ilike'].includes(leaf.test.operator))

const countCostly = (search: Search): number => {
  switch (search.type) {
    case 'and':
    case 'or':
      return search.operands.reduce((sum, operand) => sum + countCostly(operand), 0)
    case 'not':
      return countCostly(search.operand)
    default:
      return isCostly(search) ? 1 : 0
  }
}

test('whatever is searched on SQLite: each test that costs by what is stored asks whether there is time left', () => {
  fc.assert(
    fc.property(searches, (tree) => {
      const filter = { kind: 'Cluster', search: parseSearch(printSearch(tree)) }
      expect(
        compileFilter('sqlite', filter).write('sqlite', []).split(`${IN_TIME}()`).length - 1,
      ).toBeGreaterThanOrEqual(countCostly(tree))
    }),
    { numRuns: 1_000 },
  )
})

test('a pattern over much long text is given up and says what to write; what is narrowed to little is found', async () => {
  const api = await serve()
  const text = 'a'.repeat(1_000_000)
  for (let n = 1; n <= 10; n += 1)
    await api.call('POST', '/clusters', { name: `long-${n}`, labels: { n: String(n) }, spec: { text } })
  const search = (what: string) => api.call('GET', `/clusters?fields=name&search=${encodeURIComponent(what)}`)
  const pattern = `%${'a'.repeat(250)}b%`
  for (const operator of ['like', 'ilike', 'not like', 'not ilike']) {
    const { status, body } = await search(`spec.text ${operator} '${pattern}'`)
    expect([operator, status, body.code]).toEqual([operator, 400, 'HYPERFLEET-VAL-005'])
    expect(body.detail).toContain('search: takes longer than 1 s on SQLite; write fewer and shorter tests')
  }
  const found = await search("spec.text like 'aaa%' and name = 'long-1'")
  expect([found.status, found.body.total]).toEqual([200, 1])
  expect((await search(`spec.text like '${'a'.repeat(257)}'`)).body.detail).toContain('write at most 256')
  // Another statement has its own time.
  expect((await api.call('GET', '/clusters?size=1')).status).toBe(200)
})

onBothDatabases((fresh) => {
  // More than PostgreSQL has connections; SQLite has one.
  test('API-123: another caller is answered while one sends many costly searches, each of which is answered in the end', async () => {
    const issuer = await testIssuer()
    const choice = await fresh()
    const api = await serve({ ...choice, issuers: [issuer.settings] })
    const as = async (sub: string) => bearer(await issuer.token({ sub, roles: ['editor'] }))
    const [busy, other] = [await as('busy'), await as('other')]
    const isPostgres = 'databaseUrl' in choice
    const text = 'a'.repeat(1_000_000)
    for (let n = 1; n <= (isPostgres ? 2 : 10); n += 1)
      await api.call('POST', '/clusters', { name: `long-${n}`, spec: { text } }, other)
    const search = encodeURIComponent(`spec.text like '%${'a'.repeat(250)}b%'`)
    const answered: number[] = []
    const send = async () => {
      const { status, headers } = await api.call('GET', `/clusters?fields=name&search=${search}`, undefined, busy)
      answered.push(status)
      if (status === 429) expect(headers.get('retry-after')).toBe('5')
      return status
    }
    const sent = Array.from({ length: isPostgres ? 24 : 12 }, send)
    const done = () => answered.filter((status) => status !== 429).length
    await vi.waitFor(() => expect(done()).toBeGreaterThan(0), { timeout: 60_000, interval: 5 })
    const before = done()
    expect((await api.call('GET', '/clusters?fields=name&size=1', undefined, other)).status).toBe(200)
    expect(done() - before).toBeLessThanOrEqual(2)
    const statuses = await Promise.all(sent)
    expect(new Set(statuses)).toEqual(new Set([isPostgres ? 200 : 400, 429]))
    // One that was refused is not refused for ever.
    let again = await send()
    while (again === 429) again = await send()
  }, 240_000)
})
