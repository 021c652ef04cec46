import { describe, expect, test } from 'vitest'
import { bearer, testIssuer } from './issuer.ts'
import { type Json, onBothDatabases, openWatch, serve } from './support.ts'
import { BLUE, RED, SYSTEM, tenants } from './tenant-rules.ts'

const REPORT = {
  adapter: 'dns',
  observed_generation: 1,
  conditions: ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' })),
}

onBothDatabases((fresh) => {
  const world = async () => {
    const api = await serve({ ...(await fresh()), tenants })
    const create = async (name: string, tenant: Record<string, string>): Promise<Json> =>
      (await api.call('POST', '/clusters', { name, spec: {} }, tenant)).body
    const names = async (tenant: Record<string, string>, query = ''): Promise<string[]> => {
      const { body } = await api.call('GET', `/clusters${query}`, undefined, tenant)
      return body.items.map(({ name }: { name: string }) => name).toSorted()
    }
    return { api, create, names }
  }

  test('what a tenant makes carries its tenancy, and so does what is below it; nothing changes that', async () => {
    const { api, create } = await world()
    const { id, tenancy } = await create('one', { ...RED, 'x-project': 'p' })
    expect(tenancy).toEqual({ org: 'red', project: 'p' })
    const at = { ...RED, 'x-project': 'p' }
    const child = await api.call('POST', `/clusters/${id}/nodepools`, { name: 'pool', spec: {} }, at)
    expect(child.body.tenancy).toEqual({ org: 'red', project: 'p' })
    const stolen = await api.call('PATCH', `/clusters/${id}`, { tenancy: { org: 'blue' } }, at)
    expect(stolen.status).toBe(400)
    const patched = await api.call('PATCH', `/clusters/${id}`, { spec: { a: 1 } }, at)
    expect(patched.body.tenancy).toEqual({ org: 'red', project: 'p' })
  })

  test('names are a tenant’s own, and lists, pages and searches show a tenant only what is its own', async () => {
    const { create, names } = await world()
    await create('one', RED)
    await create('one', BLUE)
    await create('two', BLUE)
    await create('three', { ...BLUE, 'x-project': 'p' })
    expect(await names(RED)).toEqual(['one'])
    expect(await names(BLUE)).toEqual(['one', 'two'])
    expect(await names(BLUE, '?after=&size=1')).toEqual(['one'])
    expect(await names(RED, `?search=${encodeURIComponent("name='two' or name='one'")}`)).toEqual(['one'])
    expect(await names({ 'x-org': 'green' })).toEqual([])
    expect(await names(SYSTEM)).toEqual(['one', 'one', 'three', 'two'])
  })

  test('attack: a tenant counts, orders, pages and searches by what others have', async () => {
    const { api, create } = await world()
    const own = [await create('one', RED), await create('two', RED)]
    const asked = async (query: string) => {
      const { status, body } = await api.call('GET', query, undefined, RED)
      return [query, status, body.total, (body.items ?? []).map(({ id }: Json) => id)]
    }
    const queries = [
      '',
      '?size=1',
      '?page=2&size=1',
      '?order=name desc',
      '?order=created_time asc&size=1',
      '?labels=',
      "?search=name like 't%' or generation>0",
      "?search=created_time<'2999-01-01T00:00:00Z'",
      "?search=not (name='one')",
    ].map((query) => `/clusters${query.replaceAll(' ', '%20')}`)
    const before = await Promise.all(queries.map(asked))
    const theirs = await create('one', BLUE)
    await create('between', { ...RED, 'x-project': 'p' })
    for (const name of ['a', 'two', 'z']) await create(name, BLUE)
    await api.call('DELETE', `/clusters/${(await create('gone', BLUE)).id}`, undefined, BLUE)
    expect(await Promise.all(queries.map(asked))).toEqual(before)
    // A page begins behind one of another tenant as behind one of about its time that is not there.
    const behind = async (id: string) => (await asked(`/clusters?size=10&after=${id}`)).slice(1)
    expect(await behind(theirs.id)).toEqual(
      await behind(`${theirs.id.slice(0, -4)}${theirs.id.endsWith('0000') ? 'ffff' : '0000'}`),
    )
    // Nor do columns that say of which tenant a record is widen a search.
    for (const search of ["tenancy.org='blue'", "tenancy='blue'", "name='one' or tenancy.org='blue'"]) {
      const { body } = await api.call('GET', `/clusters?search=${encodeURIComponent(search)}`, undefined, RED)
      expect((body.items ?? []).every(({ id }: Json) => own.some((each) => each.id === id))).toBe(true)
    }
    expect((await api.call('GET', '/archive/clusters', undefined, RED)).body.items ?? []).toEqual([])
  })

  test('to another tenant a resource is not there, whatever is done to it', async () => {
    const { api, create } = await world()
    const { id } = await create('one', RED)
    const pool = await api.call('POST', `/clusters/${id}/nodepools`, { name: 'pool', spec: {} }, RED)
    const missing = await api.call('GET', '/clusters/none', undefined, BLUE)
    const calls: [string, string, object?][] = [
      ['GET', `/clusters/${id}`],
      ['PATCH', `/clusters/${id}`, { spec: { a: 1 } }],
      ['DELETE', `/clusters/${id}`],
      ['GET', `/clusters/${id}/statuses`],
      ['GET', `/clusters/${id}/statuses/history`],
      ['PUT', `/clusters/${id}/statuses`, REPORT],
      ['DELETE', `/clusters/${id}/statuses/dns`],
      ['POST', `/clusters/${id}/force-delete`, { reason: 'mine now' }],
      ['GET', `/clusters/${id}/nodepools`],
      ['POST', `/clusters/${id}/nodepools`, { name: 'other', spec: {} }],
      ['GET', `/clusters/${id}/nodepools?watch=true`],
      ['GET', `/nodepools/${pool.body.id}`],
      ['GET', `/clusters/${id}/nodepools/${pool.body.id}`],
    ]
    for (const [method, path, body] of calls) {
      const answer = await api.call(method, path, body, BLUE)
      expect([method, path, answer.status]).toEqual([method, path, 404])
      const target = path.startsWith('/nodepools') || path.endsWith(pool.body.id) ? pool.body.id : id
      expect(answer.body.detail.replace(target, 'none').replace('NodePool', 'Cluster')).toBe(missing.body.detail)
    }
    expect((await api.call('GET', `/clusters/${id}`, undefined, RED)).body.generation).toBe(1)
  })

  test('a watch tells a tenant of its own changes only', async () => {
    const { api, create } = await world()
    await create('before', BLUE)
    const stream = await openWatch(api, '/clusters?watch=true', RED)
    expect((await stream.next()).type).toBe('bookmark')
    const all = await openWatch(api, '/clusters?watch=true', SYSTEM)
    await all.until(({ type }) => type === 'bookmark')
    const theirs = await create('theirs', BLUE)
    await api.call('DELETE', `/clusters/${theirs.id}`, undefined, BLUE)
    await create('mine', RED)
    expect(await stream.next()).toMatchObject({ type: 'added', object: { name: 'mine' } })
    const seen = await all.until(({ object }) => object.name === 'mine')
    expect(seen.map(({ object }) => object.name)).toContain('theirs')
  })

  // API-174
  test('attack: a tenant counts what others write by versions: of lists, of streams, and by asking which ones are known', async () => {
    const { api, create } = await world()
    await create('mine', RED)
    const versionOf = async (tenant: Record<string, string>) =>
      (await api.call('GET', '/clusters?size=1', undefined, tenant)).headers.get('muster-resource-version') ?? ''
    const stream = await openWatch(api, '/clusters?watch=true', RED)
    const [{ position: bookmark = '' } = {}] = (await stream.until(({ type }) => type === 'bookmark')).slice(-1)
    const before = await versionOf(RED)
    const head = Number(await versionOf(SYSTEM))
    await create('theirs', BLUE)
    const shown = [bookmark, before, await versionOf(RED), await versionOf(RED)]
    expect(new Set(shown).size).toBe(4)
    for (const version of shown) expect(version).toMatch(/^[\w-]{48}$/)

    // No number tells where the head is, and none that another tenant was shown.
    const answers = async (version: string | number, tenant: Record<string, string>) =>
      (await openWatch(api, `/clusters?watch=true&resourceVersion=${version}`, tenant)).status
    for (const version of [0, head, head + 1, head + 1_000_000, await versionOf(BLUE), 'A'.repeat(48)])
      expect([version, await answers(version, RED)]).toEqual([version, 410])
    expect(await answers(before, BLUE)).toBe(410)
    expect(await answers(before, RED)).toBe(200)
  })

  test('API-174: a tenant watches on from what it was shown, by the query and by the last id, and misses nothing', async () => {
    const { api, create } = await world()
    await create('one', RED)
    const listed = await api.call('GET', '/clusters', undefined, RED)
    const from = listed.headers.get('muster-resource-version')
    await create('theirs', BLUE)
    await create('two', RED)
    const resumed = await openWatch(api, `/clusters?watch=true&resourceVersion=${from}`, RED)
    // A list's version is what the feed had read: what it shows beyond may be told again, nothing else is.
    const told = await resumed.until(({ object }) => object.name === 'two')
    const [two] = told.slice(-1)
    expect(told.map(({ object }) => object.name).filter((name) => name !== 'one')).toEqual(['two'])
    await create('three', RED)
    const again = await openWatch(api, '/clusters?watch=true', { ...RED, 'last-event-id': two?.position ?? '' })
    expect(await again.next()).toMatchObject({ type: 'added', object: { name: 'three' } })
    // What an earlier release told is no place any more: all is told anew.
    const anew = await openWatch(api, '/clusters?watch=true', { ...RED, 'last-event-id': '7' })
    expect((await anew.next()).object.name).toBe('one')
  })

  test('the system sees those of every tenant and reports on it, but makes, changes and deletes nothing', async () => {
    const { api, create } = await world()
    const { id } = await create('one', RED)
    expect((await api.call('PUT', `/clusters/${id}/statuses`, REPORT, SYSTEM)).status).toBe(201)
    expect(
      (await api.call('POST', '/events', { resourceType: 'clusters', resourceId: id, reason: 'New' }, SYSTEM)).status,
    ).toBe(201)
    for (const [method, path, body] of [
      ['POST', '/clusters', { name: 'two', spec: {} }],
      ['PATCH', `/clusters/${id}`, { spec: { a: 1 } }],
      ['DELETE', `/clusters/${id}`, undefined],
    ] as const) {
      const answer = await api.call(method, path, body, SYSTEM)
      expect([answer.status, answer.body.code]).toEqual([403, 'HYPERFLEET-AUZ-001'])
      expect(answer.body.detail).toBe('system identities may only write status and conditions')
    }
  })
})

describe('tenant headers', () => {
  test('that are missing or not as they must be are 403, and say which', async () => {
    const api = await serve({ tenants })
    const said = async (headers: Record<string, string>) => {
      const { status, body } = await api.call('GET', '/clusters', undefined, headers)
      return [status, body.code, body.detail]
    }
    const forbidden = (detail: string) => [403, 'HYPERFLEET-AUZ-001', detail]
    expect(await said({})).toEqual(forbidden('the header X-Org is missing: it says to which org the request belongs'))
    expect(await said({ 'x-org': 'a b' })).toEqual(
      forbidden('the header X-Org must be 1 to 63 letters, digits, ".", "_" or "-"'),
    )
    expect((await said({ 'x-org': 'a'.repeat(64) }))[0]).toBe(403)
    expect(await said({ ...RED, 'x-project': '' })).toEqual(
      forbidden('the header X-Project must be 1 to 63 letters, digits, ".", "_" or "-"'),
    )
    expect(await said({ 'x-system': 'yes' })).toEqual(forbidden('the header X-System must be true, false or left out'))
  })

  test('an operation that doesn’t keep tenants apart is for the system only', async () => {
    const api = await serve({ tenants })
    const { status, body } = await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' }, RED)
    expect([status, body.detail]).toEqual([403, 'this is for system identities only: send X-System: true'])
  })

  // API-174
  test('attack: a caller with a token says itself to which tenant it belongs; a gateway does, and without one the API does not start', async () => {
    const issuer = await testIssuer()
    const issuers = [issuer.settings]
    await expect(serve({ tenants, issuers })).rejects.toThrow('server.tenant has no gateways')
    const api = await serve({ tenants: { ...tenants, gateways: ['gateway'] }, issuers })
    const list = async (sub: string) => {
      const token = await issuer.token({ roles: ['reader'], sub })
      return (await api.call('GET', '/clusters', undefined, { ...RED, ...bearer(token) })).status
    }
    expect(await list('mallory')).toBe(403)
    expect(await list('gateway')).toBe(200)
  })

  test('of one without the role of an adapter don’t make it the system', async () => {
    const issuer = await testIssuer()
    const api = await serve({ tenants: { ...tenants, gateways: ['gateway'] }, issuers: [issuer.settings] })
    const list = async (roles: string[]) =>
      (await api.call('GET', '/clusters', undefined, { ...SYSTEM, ...bearer(await issuer.token({ roles })) })).status
    expect(await list(['reader', 'editor'])).toBe(403)
    expect(await list(['adapter'])).toBe(200)
  })
})
