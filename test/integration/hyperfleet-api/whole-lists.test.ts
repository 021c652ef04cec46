/** Lists without a page, for clients that know none: whole, in portions, and within the memory that is meant for them. */
import { describe, expect, test } from 'vitest'
import { PORTION_BYTES } from '#services/hyperfleet-api/storage/portions.ts'
import { manualClock } from '#test/harness/index.ts'
import { heldBytes, openConnection } from './connections.ts'
import { type Json, onBothDatabases, serve, type TestApi } from './support.ts'

const MIB = 1024 * 1024
const names = (body: Json): string[] => body.items.map(({ name }: Json) => name)

onBothDatabases((fresh) => {
  const fill = async (
    count: number,
    bytes = 0,
  ): Promise<TestApi & { readonly clock: ReturnType<typeof manualClock> }> => {
    const clock = manualClock()
    const api = await serve({ ...(await fresh()), metrics: { host: '127.0.0.1', port: 0 }, streamBytes: MIB }, clock)
    for (let n = 0; n < count; n += 1) {
      // Two of the same time follow each other.
      if (n % 2 === 0) await clock.advance('1s')
      const labels = { region: n % 3 === 0 ? 'us' : 'eu' }
      await api.call('POST', '/clusters', { name: `c-${n}`, labels, spec: { note: 'x'.repeat(bytes) } })
    }
    return { ...api, clock }
  }

  test('API-90: labels without a page give everything that matches, newest first, in the shape of one page', async () => {
    const api = await fill(230)
    const { status, headers, body } = await api.call('GET', '/clusters?labels=region%3Deu')
    const expected = Array.from({ length: 230 }, (_, n) => n).filter((n) => n % 3 !== 0)
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(Number(headers.get('muster-resource-version'))).toBeGreaterThanOrEqual(230)
    expect(names(body)).toEqual(expected.toReversed().map((n) => `c-${n}`))
    expect([Object.keys(body), body.page, body.size, body.total]).toEqual([
      ['items', 'page', 'size', 'total'],
      1,
      expected.length,
      expected.length,
    ])
    // The selector that takes everything is one too; nothing that matches is an empty list.
    expect((await api.call('GET', '/clusters?labels=')).body.items).toHaveLength(230)
    expect((await api.call('GET', '/clusters?labels=none')).body).toEqual({ items: [], page: 1, size: 0, total: 0 })
    expect((await api.call('GET', '/resources?labels=region%3Deu')).body.total).toBe(expected.length)
    // With a page, or without labels, it is a page.
    expect((await api.call('GET', '/clusters?labels=region%3Deu&size=7')).body).toMatchObject({ size: 7, total: 153 })
    expect((await api.call('GET', '/clusters?labels=region%3Deu&page=2')).body).toMatchObject({ size: 20, total: 153 })
    expect((await api.call('GET', '/clusters?labels=region%3Deu&after=')).body.size).toBe(20)
    expect((await api.call('GET', '/clusters')).body.size).toBe(20)
  }, 60_000)

  test('API-90: a whole list has the order, the fields and the search that a page has', async () => {
    const api = await fill(225)
    for (const n of [3, 9]) await api.call('DELETE', `/clusters/${(await one(api, `c-${n}`)).id}`)
    for (const order of [
      'name',
      'name desc',
      'deleted_time,name',
      'deleted_time desc,generation,name desc',
      'generation,id',
    ]) {
      const query = `labels=&order=${encodeURIComponent(order)}`
      const paged: string[] = []
      for (let page = 1; page <= 3; page += 1)
        paged.push(...names((await api.call('GET', `/clusters?${query}&size=100&page=${page}`)).body))
      expect([order, names((await api.call('GET', `/clusters?${query}`)).body)]).toEqual([order, paged])
    }
    const search = encodeURIComponent("name like 'c-1%'")
    const { items } = (await api.call('GET', `/clusters?labels=region&search=${search}&fields=name`)).body
    expect(items).toHaveLength(111)
    expect(Object.keys(items[0]).toSorted()).toEqual(['id', 'name'])
    expect((await api.call('HEAD', '/clusters?labels=')).status).toBe(200)
    expect((await api.call('GET', '/clusters?labels=a+in+(')).status).toBe(400)
  }, 60_000)

  describe('whose readers stop reading', () => {
    const READERS = 30
    /** One of them may have a quarter of the room. */
    const CALLERS = 5
    const COUNT = 60
    const BYTES = 200_000

    for (const path of ['/clusters?labels=', '/clusters?watch=true', '/clusters?watch=true&resourceVersion=0'])
      test(`API-91: ${path} holds so many bytes for all of them and no more; who takes nothing for a minute is cut off`, async () => {
        const api = await fill(COUNT, BYTES)
        await Promise.all(Array.from({ length: READERS }, (_, n) => stalledReader(api, path, 1 + (n % CALLERS))))
        // No room is left that one more document would fit into, and no reader reads.
        expect(await bytesForReaders(api, (bytes) => bytes > MIB - BYTES - 10_000)).toBeLessThanOrEqual(MIB)
        // Each minute those go that have a place, and others take it, until all are gone.
        while ((await bytesForReaders(api)) > 0) await api.clock.advance('61s')
        expect(names((await api.call('GET', '/clusters?labels=')).body)).toHaveLength(COUNT)
      }, 120_000)
  })
})

const one = async (api: TestApi, name: string): Promise<Json> =>
  (await api.call('GET', `/clusters?search=${encodeURIComponent(`name='${name}'`)}`)).body.items[0]

/** The bytes that the API holds for readers, as soon as they are as wanted; never more than there is room for. */
const bytesForReaders = async (api: TestApi, isWanted = (_bytes: number): boolean => true): Promise<number> => {
  for (;;) {
    const bytes = await heldBytes(api, 'stream')
    expect(bytes).toBeLessThanOrEqual(MIB)
    if (isWanted(bytes)) return bytes
  }
}

/** Asks, and reads nothing. */
const stalledReader = async (api: TestApi, path: string, caller: number): Promise<void> => {
  const socket = await openConnection(api, caller)
  socket.pause()
  socket.write(`GET /api/hyperfleet/v1${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
}

test('a portion is small beside what all readers together may hold', () => {
  expect(PORTION_BYTES * 16).toBeLessThanOrEqual(MIB)
})
