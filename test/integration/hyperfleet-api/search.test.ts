import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Resource } from '#services/hyperfleet-api/model/resource.ts'
import { parseSearch } from '#services/hyperfleet-api/search/parse-search.ts'
import { type Database, openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { createKnownTotals } from '#services/hyperfleet-api/storage/known-totals.ts'
import { listPage } from '#services/hyperfleet-api/storage/list.ts'
import { readPageText } from '#services/hyperfleet-api/storage/page-text.ts'
import { readPortions } from '#services/hyperfleet-api/storage/portions.ts'
import { writeResource } from '#services/hyperfleet-api/storage/write-resource.ts'
import { repetitions } from '#test/harness/deep.ts'
import { evaluate } from './search/oracle.ts'
import { printSearch } from './search/print.ts'
import { resourceAt } from './search/resources.ts'
import { searches } from './search/trees.ts'
import { type DatabaseChoice, onBothDatabases, serve, type TestApi } from './support.ts'

const open = async (choice: DatabaseChoice): Promise<Database> => {
  const database = await openDatabase({ ...choice, onError: () => {} })
  onTestFinished(() => database.close())
  return database
}

const RESOURCES = 80
/** The resources are the same each time, so that a search that fails can be tried again. */
const SEED = 20

const storeResources = async (database: Database): Promise<readonly Resource[]> => {
  const resources =
    fc.sample(fc.tuple(...Array.from({ length: RESOURCES }, (_, n) => resourceAt(n))), {
      numRuns: 1,
      seed: SEED,
    })[0] ?? []
  await database.transaction(async (writer) => {
    for (const resource of resources)
      await writeResource(writer, database.dialect, { type: 'added', resource }, resource.created_time)
  })
  return resources
}

/** Byte by byte, as both databases order what these keys are made of. */
const compareKeys = ([time, id]: readonly [string, string], [otherTime, otherId]: readonly [string, string]): number =>
  time < otherTime || (time === otherTime && id < otherId) ? -1 : 1

onBothDatabases((fresh) => {
  test('any search finds what it means, no more and no less, and counts it', async () => {
    const database = await open(await fresh())
    const resources = await storeResources(database)
    await fc.assert(
      fc.asyncProperty(searches, async (tree) => {
        const search = parseSearch(printSearch(tree))
        const order = [{ column: 'id', direction: 'asc' }] as const
        const filter = { kind: 'Cluster', search }
        const { rows, total } = await listPage(database, { filter, order, size: 100, from: { offset: 0 } })
        const meant = resources.filter((resource) => evaluate(tree, resource) === true).map(({ id }) => id)
        expect(rows.map(({ key }) => key)).toEqual(meant)
        expect(total).toBe(meant.length)
      }),
      { numRuns: repetitions({ deep: 2_000, slice: 100 }) },
    )
  })

  // API-102
  test('any search comes in the order of creation, either way and from any place in it', async () => {
    const database = await open(await fresh())
    const resources = await storeResources(database)
    const totals = createKnownTotals()
    const byCreation = resources.toSorted((a, b) => compareKeys([a.created_time, a.id], [b.created_time, b.id]))
    await fc.assert(
      fc.asyncProperty(searches, fc.constantFrom('asc', 'desc'), fc.nat(RESOURCES), async (tree, direction, offset) => {
        const search = parseSearch(printSearch(tree))
        const order = [{ column: 'created_time', direction }] as const
        const filter = { kind: 'Cluster', search }
        const { rows, total } = await listPage(database, { filter, order, size: 10, from: { offset } })
        const fitting = byCreation.filter((resource) => evaluate(tree, resource) === true).map(({ id }) => id)
        const meant = direction === 'asc' ? fitting : fitting.toReversed()
        expect(rows.map(({ key }) => key)).toEqual(meant.slice(offset, offset + 10))
        expect(total).toBe(meant.length)
        const place = { filter, order, size: 10, from: { offset } }
        const head = RESOURCES
        const text = await readPageText(database, place, { totals, head })
        const again = await readPageText(database, place, { totals, head })
        const told = { documents: rows.map(({ document }) => document), total }
        for (const page of [text, again]) {
          expect({ documents: page?.documents.documents(), total: page?.total }).toEqual(told)
          page?.documents.giveBack()
        }
        const whole: string[] = []
        for await (const documents of readPortions(database, { filter, order }, async () => () => {}))
          whole.push(...documents.map((document) => JSON.parse(document).id as string))
        expect(whole).toEqual(meant)
      }),
      { numRuns: repetitions({ deep: 2_000, slice: 100 }) },
    )
  })

  describe('over HTTP', () => {
    const names = async (api: TestApi, search: string, path = '/clusters') => {
      const { status, body } = await api.call('GET', `${path}?order=name&search=${encodeURIComponent(search)}`)
      return status === 200 ? body.items.map(({ name }: { name: string }) => name) : `${status} ${body.code}`
    }

    /** Two clusters with a node pool each. */
    const twoFamilies = async () => {
      const api = await serve(await fresh())
      const owners = []
      for (const name of ['one', 'two']) {
        const cluster = await api.cluster(name, { region: 'eu' })
        await api.call('POST', `/clusters/${cluster.id}/nodepools`, { name: `${name}-pool`, spec: {} })
        owners.push(cluster)
      }
      return { api, owner: owners[0] }
    }

    test.each([
      "kind='NodePool') or (name='two-pool'",
      "kind='NodePool' or name='two-pool'",
      "name='x') or (1=1",
      "name='x' or 1=1 --",
      "name='x'; drop table resources",
      "name='x\\' or name like '%",
      "not name='x' or name is not null",
      "id in ['x']) union select document from resources where (id is not null",
    ])('%s escapes neither kind nor parent', async (search) => {
      const { api, owner } = await twoFamilies()
      const seen = [await names(api, search), await names(api, search, `/clusters/${owner.id}/nodepools`)].flat()
      expect(seen).not.toContain('two-pool')
      expect(await names(api, 'name is not null', '/nodepools')).toEqual(['one-pool', 'two-pool'])
    })

    test('finds by spec at any depth, with numbers as numbers and text as text', async () => {
      const api = await serve(await fresh())
      const spec = { region: { zone: 'a' }, size: 3, on: true, list: ['a'], 'odd.key': 'x' }
      await api.call('POST', '/clusters', { name: 'one', spec })
      await api.call('POST', '/clusters', { name: 'two', spec: { ...spec, size: '20', region: { zone: 'b' } } })
      expect(await names(api, "spec.region.zone='a'")).toEqual(['one'])
      expect(await names(api, "spec.region.zone in ['a', 'b'] and spec.on = true")).toEqual(['one', 'two'])
      expect(await names(api, "spec['odd.key'] = 'x' and spec.region.zone like 'b%'")).toEqual(['two'])
      expect(await names(api, 'spec.size >= 3')).toEqual(['one'])
      expect(await names(api, "spec.size = '20'")).toEqual(['two'])
      expect(await names(api, "spec.size = '3'")).toEqual(['one'])
      expect(await names(api, 'spec.region = 1')).toEqual([])
      expect(await names(api, "spec.list = 'a' or spec.region = 'a'")).toEqual([])
      expect(await names(api, 'spec.list is not null and spec.nothing is null')).toEqual(['one', 'two'])
    })

    test('follows a changed spec and changed labels', async () => {
      const api = await serve(await fresh())
      const { id } = await api.cluster('one', { tier: 'a' })
      await api.call('PATCH', `/clusters/${id}`, { spec: { a: 1 } })
      expect(await names(api, "spec.a = 1 and labels.tier = 'a'")).toEqual(['one'])
      await api.call('PATCH', `/clusters/${id}`, { labels: { tier: 'b' } })
      expect(await names(api, "spec.a = 1 and labels.tier = 'b'")).toEqual(['one'])
      expect(await names(api, "labels.tier = 'a'")).toEqual([])
    })

    test('a label that is not there fits neither = nor != nor their opposites, and is null', async () => {
      const api = await serve(await fresh())
      await api.cluster('in-eu', { region: 'eu' })
      await api.cluster('in-us', { region: 'us' })
      await api.cluster('none')
      expect(await names(api, "labels.region != 'eu'")).toEqual(['in-us'])
      expect(await names(api, "not labels.region = 'eu'")).toEqual(['in-us'])
      expect(await names(api, "labels.region not in ['eu']")).toEqual(['in-us'])
      expect(await names(api, 'labels.region is null')).toEqual(['none'])
      expect(await names(api, "labels.region is null or labels.region != 'eu'")).toEqual(['in-us', 'none'])
    })

    test.each(['page=0:min', 'page=100001:max', 'page=x:format', 'size=101:max', 'size=0:min'])(
      '%s names the parameter and what it breaks',
      async (given) => {
        const [query = '', constraint] = given.split(':')
        const api = await serve(await fresh())
        const { status, body } = await api.call('GET', `/clusters?${query}`)
        expect([status, body.code, body.detail]).toEqual([400, 'HYPERFLEET-VAL-000', 'Invalid query parameters'])
        expect(body.errors).toMatchObject([{ field: query.split('=')[0], constraint }])
      },
    )

    test.each(['order=name', 'page=2'])('after with %s is refused, not half obeyed', async (query) => {
      const api = await serve(await fresh())
      const { status, body } = await api.call('GET', `/clusters?after=x&${query}`)
      expect([status, body.code]).toEqual([400, 'HYPERFLEET-VAL-005'])
    })

    test('after and id > both page through a selection, each resource once', async () => {
      const api = await serve(await fresh())
      for (let n = 0; n < 6; n += 1) await api.cluster(`c-${n}`, { parity: n % 2 === 0 ? 'even' : 'odd' })
      const pages = async (query: (last: string) => string) => {
        const seen: string[] = []
        for (let last = ''; ; ) {
          const { body } = await api.call('GET', `/clusters?size=2&${query(last)}`)
          seen.push(...body.items.map(({ name }: { name: string }) => name))
          if (body.items.length < 2) return seen
          last = body.items.at(-1).id
        }
      }
      const even = ['c-0', 'c-2', 'c-4']
      expect(await pages((last) => `labels=parity%3Deven&after=${last}`)).toEqual(even)
      expect(await pages((last) => `search=${encodeURIComponent("labels.parity='even'")}&after=${last}`)).toEqual(even)
      const search = (last: string) => `labels.parity='even' and id > '${last}'`
      expect(await pages((last) => `order=id%20asc&search=${encodeURIComponent(search(last))}`)).toEqual(even)
    })

    test('the total is right while resources come and go, also past the last page', async () => {
      const api = await serve(await fresh())
      const made = await Promise.all(Array.from({ length: 12 }, (_, n) => api.cluster(`c-${n}`)))
      const total = async (query = '') => (await api.call('GET', `/clusters?${query}`)).body.total
      expect([await total(), await total('page=9'), await total('size=1&after=zzz')]).toEqual([12, 12, 12])
      const { id } = made[0]
      await api.call('POST', `/clusters/${id}/nodepools`, { name: 'pool', spec: {} })
      expect((await api.call('GET', '/nodepools')).body.total).toBe(1)
      // What no adapter has worked on yet has none to wait for once its one adapter is done.
      for (const cluster of made.slice(1, 5)) {
        await api.report(`/clusters/${cluster.id}`, { adapter: 'dns' })
        await api.call('DELETE', `/clusters/${cluster.id}`)
        await api.report(`/clusters/${cluster.id}`, { adapter: 'dns', observed_generation: 2, finalized: 'True' })
      }
      const { body } = await api.call('GET', '/clusters?size=100')
      expect([body.total, body.items.length]).toEqual([8, 8])
    })

    test('whatever is searched, ordered or projected by is answered or refused, never a fault of the server', async () => {
      const api = await serve(await fresh())
      await api.cluster('one', { region: 'eu' })
      const word = fc.oneof(
        fc.constantFrom('labels.region', 'name', 'spec.a', 'created_time', 'generation', 'status.conditions.Ready'),
        fc.constantFrom(
          'and',
          'or',
          'not',
          'in',
          'like',
          'between',
          'is',
          'null',
          '(',
          ')',
          '[',
          ']',
          ',',
          '=',
          '<',
          '!=',
        ),
        fc.constantFrom(
          "'x'",
          "'%'",
          "'\\\\'",
          '5',
          '1e308',
          '99999999999',
          "'2026-01-01'",
          "'9999-12-31T23:59:59-23:59'",
        ),
        fc.constantFrom("'", '\\', ';', '--', '%00', '€'),
      )
      const soup = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '))
      const text = fc.oneof(soup, fc.string({ unit: 'binary', maxLength: 20 }), searches.map(printSearch))
      const parameter = fc.constantFrom(
        'search',
        'search',
        'search',
        'labels',
        'order',
        'fields',
        'after',
        'page',
        'size',
      )
      await fc.assert(
        fc.asyncProperty(parameter, text, async (name, value) => {
          const query = new URLSearchParams({ [name]: value })
          const { status, body } = await api.call('GET', `/clusters?${query.toString()}`)
          expect([200, 400]).toContain(status)
          if (status === 400) expect(body.code).toMatch(/^HYPERFLEET-VAL-/)
        }),
        { numRuns: repetitions({ deep: 1_000, slice: 60 }) },
      )
    })

    test('as much as may be asked for at once is answered', async () => {
      const api = await serve(await fresh())
      await api.cluster('one', { a: 'x' })
      const hundred = (test: string, word: string) => Array(100).fill(test).join(` ${word} `)
      expect(await names(api, hundred("labels.a='x'", 'and'))).toEqual(['one'])
      expect(await names(api, hundred("not spec.a='x'", 'or'))).toEqual([])
      expect(await names(api, hundred("status.conditions.Ready='True'", 'or'))).toEqual([])
      const absent = Array.from({ length: 100 }, (_, n) => `!key-${n}`)
      const { body } = await api.call('GET', `/clusters?labels=${absent.join(',')}`)
      expect(body.total).toBe(1)
      expect((await api.call('GET', `/clusters?labels=${absent.join(',')},!more`)).status).toBe(400)
    })
  })
})
