/** A configuration file in the peer's form with all of the peer's kinds: what it declares is served. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '#services/hyperfleet-api/config/read.ts'
import { conditionsOf, type Json, onBothDatabases, serve, type TestApi } from './support.ts'

const CONFIG = `
server:
  openapi_schema_path: SCHEMAS
entities:
  - kind: Cluster
    plural: clusters
    parent_kind: ""
    spec_schema_name: ClusterSpec
    require_spec_schema: true
    required_adapters: [validation, dns]
    name_min_len: 3
    name_max_len: 53
    references:
      - {ref_type: wif_config, target_kind: WifConfig, min: 0, max: 1}
    conditions:
      - type: ApiReachable
        when: {expression: 'statuses.exists(s, s.adapter == "dns")'}
        output:
          status: {expression: '"True"'}
          reason: {expression: '"AsReported"'}
          message: {expression: '"the name of " + resource.name + " resolves"'}
  - kind: NodePool
    plural: nodepools
    parent_kind: Cluster
    on_parent_delete: cascade
    required_adapters: [validation]
    name_min_len: 3
    name_max_len: 15
  - kind: Channel
    plural: channels
    spec_schema_name: ChannelSpec
  - kind: Version
    plural: versions
    parent_kind: Channel
    on_parent_delete: restrict
    spec_schema_name: VersionSpec
  - kind: WifConfig
    plural: wifconfigs
    spec_schema_name: WifConfigSpec
`

const SCHEMAS = `
openapi: 3.0.3
info: {title: specs, version: '1'}
paths: {}
components:
  schemas:
    ClusterSpec:
      type: object
      required: [region]
      properties:
        region: {type: string, enum: [us-east, us-west]}
        nodes: {type: object, properties: {count: {type: integer, minimum: 1}}}
        note: {type: string, nullable: true}
    ChannelSpec: {type: object, additionalProperties: false, properties: {enabled: {type: boolean}}}
    VersionSpec: {type: object, required: [raw_id], properties: {raw_id: {type: string, pattern: '^\\d+\\.\\d+\\.\\d+$'}}}
    WifConfigSpec: {type: object}
`

const configured = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-peer-config-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const schemas = join(folder, 'schemas.yaml')
  await writeFile(schemas, SCHEMAS)
  await writeFile(join(folder, 'config.yaml'), CONFIG.replace('SCHEMAS', schemas))
  const { entities, server } = await readConfig(join(folder, 'config.yaml'))
  return { entities, openapiSchemaPath: server?.openapi_schema_path }
}

const VERSION = { raw_id: '4.20.1' }

/** Status, code and the fields that are wrong. */
const refusal = ({ status, body }: Json) => [status, body.code, body.detail, body.errors]

onBothDatabases((fresh) => {
  const begin = async (): Promise<TestApi> => serve({ ...(await fresh()), ...(await configured()) })

  const make = async (api: TestApi, path: string, name: string, spec: object = {}): Promise<Json> => {
    const { status, body } = await api.call('POST', path, { name, spec })
    expect({ status, body }).toMatchObject({ status: 201 })
    return body
  }

  test('TestChannelCreate, List, Get, Patch, Delete', async () => {
    const { call, ...api } = await begin()
    const channel = await make({ call, ...api }, '/channels', 'stable', { enabled: true })
    expect(channel).toMatchObject({ kind: 'Channel', generation: 1, status: { conditions: [] }, tenancy: {} })
    const path = `/channels/${channel.id}`
    expect((await call('GET', '/channels')).body).toEqual({ items: [channel], page: 1, size: 1, total: 1 })
    expect((await call('GET', path)).body).toEqual(channel)
    const patched = await call('PATCH', path, { spec: { enabled: false }, labels: { tier: 'gold' } })
    expect(patched.body).toMatchObject({ generation: 2, spec: { enabled: false }, labels: { tier: 'gold' } })
    // No adapter works on it: it is gone at once, and the answer shows it a last time.
    const deleted = await call('DELETE', path)
    expect([deleted.status, deleted.body.generation]).toEqual([202, 3])
    expect((await call('GET', path)).body).toMatchObject({
      status: 404,
      detail: `Channel with id='${channel.id}' not found`,
    })
  })

  test('TestVersionCreate, List, Get, Patch, Delete: below its channel, which it keeps from being deleted', async () => {
    const api = await begin()
    const { call } = api
    const channel = await make(api, '/channels', 'stable')
    const versions = `/channels/${channel.id}/versions`
    const version = await make(api, versions, 'v4-20-1', VERSION)
    expect(version.owner_references).toEqual({ id: channel.id, kind: 'Channel', href: channel.href })
    for (const collection of [versions, '/versions']) {
      expect((await call('GET', collection)).body.items).toEqual([version])
      expect((await call('GET', `${collection}/${version.id}`)).body).toEqual(version)
    }
    const patched = await call('PATCH', `/versions/${version.id}`, { spec: { raw_id: '4.20.2' } })
    expect([patched.status, patched.body.generation]).toEqual([200, 2])
    const refused = await call('DELETE', `/channels/${channel.id}`)
    expect(refused.body).toMatchObject({ status: 409, code: 'HYPERFLEET-CNF-003' })
    expect(refused.body.detail).toContain('active Version(s) exist')
    expect((await call('DELETE', `${versions}/${version.id}`)).status).toBe(202)
    expect((await call('DELETE', `/channels/${channel.id}`)).status).toBe(202)
  })

  test('TestWifConfig: is made, listed, read, changed, named by a cluster, and deleted when none names it', async () => {
    const api = await begin()
    const { call } = api
    const wif = await make(api, '/wifconfigs', 'wif', { pool: 'a' })
    const path = `/wifconfigs/${wif.id}`
    expect((await call('GET', `/wifconfigs?search=${encodeURIComponent("name='wif'")}`)).body.items).toEqual([wif])
    expect((await call('PATCH', path, { spec: { pool: 'b' } })).body.generation).toBe(2)
    const references = { wif_config: [{ id: wif.id }] }
    const { body: cluster } = await call('POST', '/clusters', { name: 'one', spec: { region: 'us-east' }, references })
    expect(cluster.references).toEqual({ wif_config: [{ id: wif.id, kind: 'WifConfig', href: wif.href }] })
    expect((await call('DELETE', path)).status).toBe(409)
    expect((await call('PATCH', `/clusters/${cluster.id}`, { references: {} })).status).toBe(200)
    expect((await call('DELETE', path)).status).toBe(202)
    expect((await call('GET', path)).status).toBe(404)
  })

  test('a cluster with its pools: adapters, computed conditions, and the cascade', async () => {
    const api = await begin()
    const { call } = api
    const { id } = await make(api, '/clusters', 'one', { region: 'us-east' })
    const pool = await make(api, `/clusters/${id}/nodepools`, 'workers')
    for (const adapter of ['validation', 'dns']) await api.report(`/clusters/${id}`, { adapter })
    expect(conditionsOf((await call('GET', `/clusters/${id}`)).body)).toMatchObject({
      Ready: { status: 'True' },
      ApiReachable: { status: 'True', message: 'the name of one resolves' },
    })
    await call('DELETE', `/clusters/${id}`)
    expect((await call('GET', `/nodepools/${pool.id}`)).body.status).toMatchObject({
      phase: 'Deleting',
      awaited: ['validation'],
    })
  })

  describe('specs that don’t fit their schema', () => {
    test('TestRootResourcePostInvalidSpecReturns400: every field that is wrong is named, and nothing is stored', async () => {
      const { call } = await begin()
      const wrong = { region: 'mars', nodes: { count: 0 }, note: null }
      expect(refusal(await call('POST', '/clusters', { name: 'one', spec: wrong }))).toEqual([
        400,
        'HYPERFLEET-VAL-000',
        'Invalid ClusterSpec',
        [
          { field: 'spec.region', message: 'must be one of us-east, us-west', constraint: 'enum' },
          { field: 'spec.nodes.count', message: 'must be >= 1', constraint: 'minimum' },
        ],
      ])
      expect(refusal(await call('POST', '/clusters', { name: 'one', spec: {} }))[3]).toEqual([
        { field: 'spec.region', message: 'is required', constraint: 'required' },
      ])
      expect((await call('GET', '/clusters')).body.total).toBe(0)
    })

    test('the same by /resources, and below a parent', async () => {
      const api = await begin()
      const { call } = api
      const channel = { kind: 'Channel', name: 'stable', spec: { colour: 'red' } }
      expect(refusal(await call('POST', '/resources', channel))[3]).toEqual([
        { field: 'spec.colour', message: 'is not known', constraint: 'additionalProperties' },
      ])
      const { id } = await make(api, '/channels', 'stable')
      const version = { name: 'v1', spec: { raw_id: 'latest' } }
      expect(refusal(await call('POST', `/channels/${id}/versions`, version))[3]).toMatchObject([
        { field: 'spec.raw_id', constraint: 'pattern' },
      ])
    })

    test('TestRootResourcePatchInvalidSpecReturns400: the spec stays as it was, and labels may change', async () => {
      const api = await begin()
      const { call } = api
      const { id } = await make(api, '/clusters', 'one', { region: 'us-east' })
      const path = `/clusters/${id}`
      expect(refusal(await call('PATCH', path, { spec: { region: 'mars' } }))).toMatchObject([
        400,
        'HYPERFLEET-VAL-000',
        'Invalid ClusterSpec',
        [{ field: 'spec.region' }],
      ])
      expect((await call('PATCH', path, { labels: { a: 'b' } })).body).toMatchObject({
        generation: 2,
        spec: { region: 'us-east' },
      })
    })

    test('a spec that is no object is refused before its schema is asked', async () => {
      const { call } = await begin()
      for (const spec of [undefined, null, 'text', []])
        expect((await call('POST', '/clusters', { name: 'one', spec })).body).toMatchObject({ status: 400 })
    })
  })
})
