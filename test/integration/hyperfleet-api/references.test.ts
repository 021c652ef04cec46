import { describe, expect, test } from 'vitest'
import type { EntityConfig } from '#services/hyperfleet-api/model/entity-config.ts'
import { type Json, onBothDatabases, serve, type TestApi } from './support.ts'

const entities: readonly EntityConfig[] = [
  {
    kind: 'Cluster',
    plural: 'clusters',
    required_adapters: ['dns'],
    references: [
      { ref_type: 'wif_config', target_kind: 'WifConfig', max: 1 },
      { ref_type: 'peers', target_kind: 'Cluster' },
    ],
  },
  {
    kind: 'NodePool',
    plural: 'nodepools',
    parent_kind: 'Cluster',
    references: [{ ref_type: 'sibling', target_kind: 'NodePool' }],
  },
  { kind: 'WifConfig', plural: 'wifconfigs' },
  { kind: 'Tenant', plural: 'tenants', references: [{ ref_type: 'owner', target_kind: 'WifConfig', min: 1 }] },
]

const make = async (api: TestApi, path: string, name: string, references?: Json): Promise<Json> => {
  const { status, body } = await api.call('POST', path, { name, spec: {}, ...(references && { references }) })
  expect({ status, body }).toMatchObject({ status: 201 })
  return body
}

const errorsOf = ({ status, body }: Json) => [status, body.code, body.errors.map(({ field }: Json) => field)]
const INVALID = 'HYPERFLEET-VAL-000'

onBothDatabases((fresh) => {
  const start = async () => {
    const api = await serve({ ...(await fresh()), entities })
    return { api, wif: await make(api, '/wifconfigs', 'wif') }
  }

  describe('TestResourceReferences: create', () => {
    test('stores what is named, and answers its kind and href', async () => {
      const { api, wif } = await start()
      const cluster = await make(api, '/clusters', 'one', {
        wif_config: [{ id: wif.id, kind: 'WifConfig', href: 'x' }],
      })
      expect(cluster.references).toEqual({ wif_config: [{ id: wif.id, kind: 'WifConfig', href: wif.href }] })
      expect((await api.call('GET', `/clusters/${cluster.id}`)).body.references).toEqual(cluster.references)
    })

    test('has no references when none are named', async () => {
      const { api } = await start()
      expect(await make(api, '/clusters', 'one', {})).not.toHaveProperty('references')
      expect(await make(api, '/clusters', 'two', { wif_config: [] })).not.toHaveProperty('references')
    })

    test.each([
      ['an unknown type', (id: string) => ({ nope: [{ id }] }), ['references.nope']],
      [
        'too many',
        (id: string) => ({ wif_config: [{ id }, { id: 'b' }] }),
        ['references.wif_config', 'references.wif_config.1'],
      ],
      [
        'the same target twice',
        (id: string) => ({ wif_config: [{ id }, { id }] }),
        ['references.wif_config', 'references.wif_config.1'],
      ],
      [
        'another kind by its word',
        (id: string) => ({ wif_config: [{ id, kind: 'Cluster' }] }),
        ['references.wif_config.0'],
      ],
      ['another kind in truth', (id: string) => ({ peers: [{ id }] }), ['references.peers.0']],
      ['a target that is not there', () => ({ wif_config: [{ id: 'nobody' }] }), ['references.wif_config.0']],
    ])('refuses %s', async (_case, references, fields) => {
      const { api, wif } = await start()
      const answer = await api.call('POST', '/clusters', { name: 'one', spec: {}, references: references(wif.id) })
      expect(errorsOf(answer)).toEqual([400, INVALID, fields])
      expect((await api.call('GET', '/clusters')).body.total).toBe(0)
    })

    test('refuses a target that is being deleted', async () => {
      const { api } = await start()
      const target = await make(api, '/clusters', 'target')
      await api.call('DELETE', target.href.replace('/api/hyperfleet/v1', ''))
      const answer = await api.call('POST', '/clusters', {
        name: 'one',
        spec: {},
        references: { peers: [{ id: target.id }] },
      })
      expect(errorsOf(answer)).toEqual([400, INVALID, ['references.peers.0']])
    })

    test('asks for what is required', async () => {
      const { api, wif } = await start()
      expect(errorsOf(await api.call('POST', '/tenants', { name: 'one', spec: {} }))).toEqual([
        400,
        INVALID,
        ['references.owner'],
      ])
      await make(api, '/tenants', 'one', { owner: [{ id: wif.id }] })
    })
  })

  describe('TestResourceReferences: patch', () => {
    test('replaces the whole set, counts a generation even when nothing differs, and {} clears', async () => {
      const { api, wif } = await start()
      const other = await make(api, '/clusters', 'other')
      const cluster = await make(api, '/clusters', 'one', { wif_config: [{ id: wif.id }] })
      const patch = async (references: Json) =>
        (await api.call('PATCH', `/clusters/${cluster.id}`, { references })).body
      expect(await patch({ peers: [{ id: other.id }] })).toMatchObject({
        generation: 2,
        references: { peers: [{ id: other.id, kind: 'Cluster', href: other.href }] },
      })
      expect((await patch({ peers: [{ id: other.id }] })).generation).toBe(3)
      const cleared = await patch({})
      expect([cleared.generation, cleared.references]).toEqual([4, undefined])
      expect((await patch({})).generation).toBe(5)
    })

    test('of something else leaves them', async () => {
      const { api, wif } = await start()
      const { id, references } = await make(api, '/clusters', 'one', { wif_config: [{ id: wif.id }] })
      const { body } = await api.call('PATCH', `/clusters/${id}`, { spec: { a: 1 }, references: null })
      expect([body.generation, body.references]).toEqual([2, references])
    })

    test('may not clear what is required', async () => {
      const { api, wif } = await start()
      const { id } = await make(api, '/tenants', 'one', { owner: [{ id: wif.id }] })
      expect(errorsOf(await api.call('PATCH', `/tenants/${id}`, { references: {} }))).toEqual([
        400,
        INVALID,
        ['references.owner'],
      ])
      expect((await api.call('GET', `/tenants/${id}`)).body.generation).toBe(1)
    })
  })

  describe('TestResourceReferences: delete', () => {
    test('is refused while a living resource names it, and possible when that one is being deleted', async () => {
      const { api, wif } = await start()
      const cluster = await make(api, '/clusters', 'one', { wif_config: [{ id: wif.id }] })
      const refused = await api.call('DELETE', `/wifconfigs/${wif.id}`)
      expect([refused.status, refused.body.code]).toEqual([409, 'HYPERFLEET-CNF-003'])
      expect(refused.body.detail).toContain("Cluster 'one'")
      const deleted = await api.call('DELETE', `/clusters/${cluster.id}`)
      expect([deleted.status, deleted.body.references]).toEqual([202, undefined])
      expect((await api.call('DELETE', `/wifconfigs/${wif.id}`)).status).toBe(202)
    })

    test('of a family whose members name each other goes; from outside it is refused and nothing is marked', async () => {
      const { api } = await start()
      const cluster = await make(api, '/clusters', 'one')
      const first = await make(api, `/clusters/${cluster.id}/nodepools`, 'first')
      const second = await make(api, `/clusters/${cluster.id}/nodepools`, 'second', { sibling: [{ id: first.id }] })
      await api.call('PATCH', `/nodepools/${first.id}`, { references: { sibling: [{ id: second.id }] } })
      const outside = await make(api, '/clusters', 'two')
      const pool = await make(api, `/clusters/${outside.id}/nodepools`, 'pool', { sibling: [{ id: first.id }] })
      expect((await api.call('DELETE', `/clusters/${cluster.id}`)).status).toBe(409)
      expect((await api.call('GET', `/nodepools/${second.id}`)).body).not.toHaveProperty('deleted_time')
      await api.call('PATCH', `/nodepools/${pool.id}`, { references: {} })
      expect((await api.call('DELETE', `/clusters/${cluster.id}`)).status).toBe(202)
    })
  })

  test('lists those that name a resource', async () => {
    const { api, wif } = await start()
    await make(api, '/clusters', 'one', { wif_config: [{ id: wif.id }] })
    const other = await make(api, '/clusters', 'two')
    await make(api, '/clusters', 'three', { peers: [{ id: other.id }] })
    const names = async (path: string, type: string, id: string) => {
      const { body } = await api.call('GET', `${path}?ref_type=${type}&ref_target_id=${id}`)
      return [body.items.map(({ name }: Json) => name), body.total]
    }
    expect(await names('/clusters', 'wif_config', wif.id)).toEqual([['one'], 1])
    expect(await names('/clusters', 'peers', other.id)).toEqual([['three'], 1])
    expect(await names('/clusters', 'peers', wif.id)).toEqual([[], 0])
    expect(await names('/resources', 'wif_config', wif.id)).toEqual([['one'], 1])
    for (const query of ['ref_type=peers', `ref_target_id=${wif.id}`]) {
      const { status, body } = await api.call('GET', `/clusters?${query}`)
      expect([status, body.code]).toEqual([400, 'HYPERFLEET-VAL-005'])
    }
  })

  test('a target is never deleted while it is being named', async () => {
    const { api, wif } = await start()
    const [created, deleted] = await Promise.all([
      api.call('POST', '/clusters', { name: 'one', spec: {}, references: { wif_config: [{ id: wif.id }] } }),
      api.call('DELETE', `/wifconfigs/${wif.id}`),
    ])
    expect([
      [201, 409],
      [400, 202],
    ]).toContainEqual([created.status, deleted.status])
  })
})
