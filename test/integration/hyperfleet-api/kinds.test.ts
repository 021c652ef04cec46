import { describe, expect, test } from 'vitest'
import type { EntityConfig } from '#services/hyperfleet-api/model/entity-config.ts'
import { type Json, onBothDatabases, serve, type TestApi } from './support.ts'

const entities: readonly EntityConfig[] = [
  { kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'], name_min_len: 3, name_max_len: 53 },
  { kind: 'Channel', plural: 'channels' },
  { kind: 'Version', plural: 'versions', parent_kind: 'Channel', on_parent_delete: 'restrict' },
  { kind: 'Build', plural: 'builds', parent_kind: 'Version' },
  { kind: 'Artifact', plural: 'arti-facts', parent_kind: 'Build' },
]

const NOBODY = '00000000-0000-7000-8000-000000000000'

const make = async (api: TestApi, path: string, name: string): Promise<Json> => {
  const { status, body } = await api.call('POST', path, { name, spec: {} })
  expect({ status, body }).toMatchObject({ status: 201 })
  return body
}

/** Below the base path. */
const pathOf = ({ href }: Json): string => href.replace('/api/hyperfleet/v1', '')

const codesOf = (answers: readonly Json[]) => answers.map(({ status, body }) => [status, body?.code])

onBothDatabases((fresh) => {
  const start = async () => serve({ ...(await fresh()), entities })

  // API-100
  test('are listed with the adapters that each requires', async () => {
    const { status, body } = await (await start()).call('GET', '/kinds')
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        items: [
          { kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'] },
          { kind: 'Channel', plural: 'channels', required_adapters: [] },
          { kind: 'Version', plural: 'versions', parent_kind: 'Channel', required_adapters: [] },
          { kind: 'Build', plural: 'builds', parent_kind: 'Version', required_adapters: [] },
          { kind: 'Artifact', plural: 'arti-facts', parent_kind: 'Build', required_adapters: [] },
        ],
      },
    })
  })

  describe('a family of four generations', () => {
    const family = async () => {
      const api = await start()
      const channel = await make(api, '/channels', 'stable')
      const version = await make(api, `/channels/${channel.id}/versions`, 'v1')
      const build = await make(api, `/versions/${version.id}/builds`, 'b1')
      const artifact = await make(api, `/builds/${build.id}/arti-facts`, 'a1')
      return { api, channel, version, build, artifact }
    }

    test('has hrefs that begin with the owner’s, and each is a path that answers', async () => {
      const { api, channel, version, build, artifact } = await family()
      expect(artifact.href).toBe(
        `/api/hyperfleet/v1/channels/${channel.id}/versions/${version.id}/builds/${build.id}/arti-facts/${artifact.id}`,
      )
      expect(artifact.owner_references).toEqual({ id: build.id, kind: 'Build', href: build.href })
      for (const one of [channel, version, build, artifact])
        expect((await api.call('GET', pathOf(one))).body).toEqual(one)
    })

    // API-42
    test('is served flat, below the parent, and along the whole line', async () => {
      const { api, build, artifact } = await family()
      const collections = ['/arti-facts', `/builds/${build.id}/arti-facts`, `${pathOf(build)}/arti-facts`]
      for (const collection of collections) {
        expect((await api.call('GET', `${collection}/${artifact.id}`)).body).toEqual(artifact)
        expect((await api.call('GET', collection)).body.items).toEqual([artifact])
        const patched = await api.call('PATCH', `${collection}/${artifact.id}`, { spec: { by: collection } })
        expect(patched.body.spec).toEqual({ by: collection })
        artifact.spec = patched.body.spec
        artifact.generation = patched.body.generation
      }
      expect((await api.call('POST', `${pathOf(build)}/arti-facts`, { name: 'a2', spec: {} })).status).toBe(201)
    })

    test('is not found below another line', async () => {
      const { api, channel, version, build, artifact } = await family()
      const other = await make(api, '/channels', 'other')
      const paths = [
        `/builds/${NOBODY}/arti-facts/${artifact.id}`,
        `/versions/${version.id}/builds/${artifact.id}`,
        `/channels/${other.id}/versions/${version.id}`,
        `/channels/${other.id}/versions/${version.id}/builds/${build.id}`,
        `/channels/${other.id}/versions/${version.id}/builds`,
        `/channels/${channel.id}/versions/${NOBODY}/builds/${build.id}/arti-facts/${artifact.id}`,
      ]
      for (const path of paths)
        expect([path, (await api.call('GET', path)).body.code]).toEqual([path, 'HYPERFLEET-NTF-001'])
      const wrong = `/channels/${other.id}/versions/${version.id}/builds`
      const answers = [
        await api.call('POST', wrong, { name: 'b2', spec: {} }),
        await api.call('PATCH', `${wrong}/${build.id}`, { spec: { a: 1 } }),
        await api.call('DELETE', `${wrong}/${build.id}`),
        await api.report(`${wrong}/${build.id}`, { adapter: 'dns' }),
        await api.call('GET', `${wrong}/${build.id}/statuses`),
      ]
      expect(codesOf(answers)).toEqual(answers.map(() => [404, 'HYPERFLEET-NTF-001']))
    })

    test('a child that restricts keeps its parent, one that cascades goes with it', async () => {
      const { api, channel, version, artifact } = await family()
      const refused = await api.call('DELETE', `/channels/${channel.id}`)
      expect([refused.status, refused.body.code]).toEqual([409, 'HYPERFLEET-CNF-003'])
      expect((await api.call('DELETE', `/versions/${version.id}`)).status).toBe(202)
      expect((await api.call('GET', `/arti-facts/${artifact.id}`)).status).toBe(404)
      expect((await api.call('DELETE', `/channels/${channel.id}`)).status).toBe(202)
    })
  })

  describe('TestFlatChildRoute', () => {
    test('PostReturns422, and names the path to post to', async () => {
      const api = await start()
      const { status, body } = await api.call('POST', '/versions', { name: 'v1', spec: {} })
      expect([status, body.code]).toEqual([422, 'HYPERFLEET-VAL-000'])
      expect(body.detail).toContain('/channels/{id}/versions')
    })

    test('List shows the children of every parent', async () => {
      const api = await start()
      for (const name of ['stable', 'fast']) {
        const { id } = await make(api, '/channels', name)
        await make(api, `/channels/${id}/versions`, 'v1')
      }
      expect((await api.call('GET', '/versions')).body.total).toBe(2)
    })
  })

  describe('TestRootResource', () => {
    test('List takes kind, and everything that the list of a kind takes', async () => {
      const api = await start()
      const channel = await make(api, '/channels', 'stable')
      await make(api, '/clusters', 'one')
      const { body } = await api.call('GET', '/resources?kind=Channel&fields=name')
      expect(body).toEqual({ items: [{ id: channel.id, name: 'stable' }], page: 1, size: 1, total: 1 })
      expect(codesOf([await api.call('GET', '/resources?kind=Nothing')])).toEqual([[400, 'HYPERFLEET-VAL-000']])
      expect(codesOf([await api.call('GET', '/resources?watch=true')])).toEqual([[400, 'HYPERFLEET-VAL-005']])
    })

    test('List without kind is of every kind, in one order, with one total', async () => {
      const api = await start()
      await make(api, '/channels', 'c-channel')
      await make(api, '/clusters', 'a-cluster')
      await api.call('POST', '/channels', { name: 'b-channel', spec: {}, labels: { tier: 'gold' } })
      const names = async (query: string) => {
        const { body } = await api.call('GET', `/resources?${query}`)
        return [body.items.map(({ name }: Json) => name), body.total]
      }
      expect(await names('order=name')).toEqual([['a-cluster', 'b-channel', 'c-channel'], 3])
      expect(await names('order=name&page=2&size=2')).toEqual([['c-channel'], 3])
      expect(await names('labels=tier=gold')).toEqual([['b-channel'], 1])
      expect(await names(`search=${encodeURIComponent("kind='Cluster'")}`)).toEqual([['a-cluster'], 1])
      expect((await names('after=&size=2'))[0]).toEqual(['c-channel', 'a-cluster'])
    })

    test('GetByID, Patch and statuses are those of the resource’s kind', async () => {
      const api = await start()
      const cluster = await make(api, '/clusters', 'one')
      const path = `/resources/${cluster.id}`
      expect((await api.call('GET', path)).body).toEqual(cluster)
      expect((await api.call('PATCH', path, { spec: { a: 1 } })).body).toMatchObject({ kind: 'Cluster', generation: 2 })
      expect((await api.report(path, { adapter: 'dns', observed_generation: 2 })).status).toBe(201)
      expect((await api.call('GET', `${path}/statuses`)).body.items).toHaveLength(1)
      expect((await api.call('GET', `/clusters/${cluster.id}`)).body.status.phase).toBe('Ready')
    })

    test('Create goes by the kind that the body names', async () => {
      const api = await start()
      const created = await api.call('POST', '/resources', { kind: 'Cluster', name: 'one', spec: {} })
      expect([created.status, created.body.href]).toEqual([201, `/api/hyperfleet/v1/clusters/${created.body.id}`])
      const answers = [
        await api.call('POST', '/resources', { name: 'two', spec: {} }),
        await api.call('POST', '/resources', { kind: 'Nothing', name: 'two', spec: {} }),
        await api.call('POST', '/resources', { kind: 'Cluster', name: 'on', spec: {} }),
        await api.call('POST', '/resources', { kind: 'Cluster', name: 'one', spec: {} }),
      ]
      expect(codesOf(answers)).toEqual([
        [400, 'HYPERFLEET-VAL-000'],
        [400, 'HYPERFLEET-VAL-000'],
        [400, 'HYPERFLEET-VAL-000'],
        [409, 'HYPERFLEET-CNF-001'],
      ])
      expect(answers[1]?.body.detail).toBe('Unknown entity kind: Nothing')
    })

    test('CreateChildKindReturns422', async () => {
      const api = await start()
      expect((await api.call('POST', '/resources', { kind: 'Version', name: 'v1', spec: {} })).status).toBe(422)
    })

    test('Delete marks what adapters work on and removes what they don’t; PatchSoftDeleted is a conflict', async () => {
      const api = await start()
      const cluster = await make(api, '/clusters', 'one')
      const channel = await make(api, '/channels', 'stable')
      const deleted = await api.call('DELETE', `/resources/${cluster.id}`)
      expect([deleted.status, deleted.body.status.phase]).toEqual([202, 'Deleting'])
      expect((await api.call('PATCH', `/resources/${cluster.id}`, { spec: {} })).body.code).toBe('HYPERFLEET-CNF-003')
      expect((await api.call('DELETE', `/resources/${channel.id}`)).status).toBe(202)
      const gone = await api.call('GET', `/resources/${channel.id}`)
      expect([gone.status, gone.body.detail]).toEqual([404, `Resource with id='${channel.id}' not found`])
    })
  })

  describe('names and labels', () => {
    test('each kind has its own length of names', async () => {
      const api = await start()
      const post = (path: string, name: string) => api.call('POST', path, { name, spec: {} })
      expect((await post('/clusters', 'ab')).status).toBe(400)
      expect((await post('/clusters', 'a'.repeat(53))).status).toBe(201)
      expect((await post('/clusters', 'a'.repeat(54))).status).toBe(400)
      expect((await post('/channels', 'a')).status).toBe(201)
      expect((await post('/channels', 'a'.repeat(100))).status).toBe(201)
      expect((await post('/channels', 'a'.repeat(101))).status).toBe(400)
    })

    test('a name is free below another parent, and again when the one that had it is being deleted', async () => {
      const api = await start()
      const [one, two] = [await make(api, '/channels', 'one'), await make(api, '/channels', 'two')]
      const version = await make(api, `/channels/${one.id}/versions`, 'v1')
      await make(api, `/channels/${two.id}/versions`, 'v1')
      const again = () => api.call('POST', `/channels/${one.id}/versions`, { name: 'v1', spec: {} })
      const taken = await again()
      expect(taken.body).toMatchObject({ status: 409, code: 'HYPERFLEET-CNF-001' })
      expect(taken.body.detail).toContain('This Version already exists')
      await api.call('DELETE', `/versions/${version.id}`)
      expect((await again()).status).toBe(201)
    })

    test('fields of a POST that are not the caller’s to say are ignored', async () => {
      const api = await start()
      const body = { name: 'one', spec: {}, id: 'mine', generation: 7, tenancy: { a: 'b' }, href: '/x', colour: 'red' }
      const { status, body: made } = await api.call('POST', '/channels', body)
      expect([status, made.generation, made.tenancy, made.id === 'mine']).toEqual([201, 1, {}, false])
      expect(made).not.toHaveProperty('colour')
    })
  })
})
