import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect, test } from 'vitest'
import { BASE_PATH } from '#apis/hyperfleet.redhat.com/base-path.ts'
import { EXAMPLES } from '#services/hyperfleet-api/http/examples.ts'
import type { EntityConfig } from '#services/hyperfleet-api/model/entity-config.ts'
import { type Answer, type Json, serve, type TestApi } from './support.ts'

const entities: readonly EntityConfig[] = [
  {
    kind: 'Cluster',
    plural: 'clusters',
    required_adapters: ['dns'],
    references: [{ ref_type: 'wif_config', target_kind: 'WifConfig' }],
  },
  { kind: 'NodePool', plural: 'nodepools', parent_kind: 'Cluster', required_adapters: ['dns'] },
  { kind: 'Machine', plural: 'machines', parent_kind: 'NodePool', required_adapters: ['dns'] },
  { kind: 'WifConfig', plural: 'wifconfigs', required_adapters: ['dns'] },
]

const start = async () => {
  const api = await serve({ entities })
  const document = (await api.call('GET', '/openapi')).body
  return { api, document }
}

/** Checks answers against what the document says of an operation. */
const checkerOf = (document: Json) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema(document, 'document')
  return (path: string, method: string, { status, headers, body }: Answer): void => {
    const { responses } = document.paths[path][method]
    const name = responses[status] === undefined ? 'default' : String(status)
    const type = headers.get('content-type')?.split(';')[0] ?? ''
    const where = `${method} ${path} ${status} ${type}`
    if (body === undefined) {
      expect([where, name === 'default', responses[name].content]).toEqual([where, false, undefined])
      return
    }
    expect(Object.keys(responses[name].content ?? {}), where).toContain(type)
    const pointer = ['paths', path, method, 'responses', name, 'content', type, 'schema']
      .map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/')
    const validate = ajv.compile({ $ref: `document#/${pointer}` })
    validate(body)
    expect([where, validate.errors ?? []]).toEqual([where, []])
  }
}

test('the document is OpenAPI 3.1', async () => {
  const { document } = await start()
  const { valid, errors } = await new Validator().validate(document)
  expect([valid, errors ?? []]).toEqual([true, []])
  expect(document.openapi).toBe('3.1.0')
})

test('every named shape has an example, which fits it', async () => {
  const { document } = await start()
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema(document, 'document')
  expect(Object.keys(document.components.schemas).toSorted()).toEqual(Object.keys(EXAMPLES).toSorted())
  for (const [name, example] of Object.entries(EXAMPLES)) {
    const validate = ajv.compile({ $ref: `document#/components/schemas/${name}` })
    validate(example)
    expect([name, validate.errors ?? []]).toEqual([name, []])
  }
})

/** Makes a resource with all that is above it; gives the ids, its own last. */
const line = async (api: TestApi, config: EntityConfig, count: () => number): Promise<string[]> => {
  const parent = entities.find(({ kind }) => kind === config.parent_kind)
  const above = parent === undefined ? [] : await line(api, parent, count)
  const path = parent === undefined ? `/${config.plural}` : `/${parent.plural}/${above.at(-1)}/${config.plural}`
  const { body } = await api.call('POST', path, { name: `n-${count()}`, spec: {} })
  return [...above, body.id]
}

const report = (adapter = 'dns', available = 'True') => ({
  adapter,
  observed_generation: 1,
  conditions: ['Available', 'Applied', 'Health'].map((type) => ({
    type,
    status: type === 'Available' ? available : 'True',
  })),
})

test('every operation answers what the document says, when it succeeds and when it fails', async () => {
  const { api, document } = await start()
  const check = checkerOf(document)
  const succeeded = new Set<string>()
  let made = 0
  const count = () => (made += 1)

  /** Calls an operation: the parameters of its path in order, then its body. */
  const call = async (path: string, method: string, ids: readonly string[], body?: unknown): Promise<Answer> => {
    const rest = [...ids]
    const filled = path.slice(BASE_PATH.length).replace(/\{\w+\}/g, () => rest.shift() ?? 'nobody')
    const answer = await api.call(method.toUpperCase(), filled, body)
    check(path, method, answer)
    if (answer.status < 300) succeeded.add(document.paths[path][method].operationId)
    return answer
  }

  const bodies: Readonly<Record<string, (kind: string) => unknown>> = {
    'post ': (kind) => ({ kind, name: `n-${count()}`, spec: {}, labels: { a: 'b' } }),
    'patch /{id}': () => ({ spec: { n: count() } }),
    'put /{id}/statuses': () => report(),
    'post /{id}/statuses': () => report(),
    'post /{id}/force-delete': () => ({ reason: 'tests' }),
  }

  for (const [path, item] of Object.entries<Json>(document.paths)) {
    const below = path.slice(BASE_PATH.length)
    const config = entities.find(({ plural }) => new RegExp(`/${plural}(/\\{id\\}.*)?$`).test(below))
    const shape = /(\/\{id\}.*)?$/.exec(below)?.[0] ?? ''
    const isAny = below.startsWith('/resources')
    const of = config ?? entities[0]
    if (of === undefined || (config === undefined && !isAny)) continue
    for (const method of Object.keys(item)) {
      const ids = await line(api, of, count)
      const id = ids.at(-1) ?? ''
      const flat = `/${of.plural}/${id}`
      await api.call('PUT', `${flat}/statuses`, report())
      await api.call('PUT', `${flat}/statuses`, report('dns', 'Unknown'))
      await api.call('PUT', `${flat}/statuses`, report('retired'))
      if (shape.endsWith('force-delete')) await api.call('DELETE', flat)
      // The ids that the path asks for are the last ones of the line.
      const wanted = (below.match(/\{\w+\}/g) ?? []).length - (shape.includes('{adapter}') ? 1 : 0)
      const named = shape === '' ? ids.slice(0, -1) : ids
      const parameters = [...named.slice(named.length - wanted), 'retired']
      const body = bodies[`${method} ${shape}`]?.(of.kind)
      await call(path, method, parameters, body)
      await call(path, method, wanted === 0 ? [] : parameters.map(() => 'nobody'), body === undefined ? body : [])
    }
  }

  const events = `${BASE_PATH}/events`
  const [cluster = ''] = await line(api, entities[0] as EntityConfig, count)
  const consumer = `${events}/consumers/{name}`
  await call(consumer, 'put', ['c'], { resourceType: 'clusters', maxDeliveries: 1 })
  await call(consumer, 'put', ['c'], { resourceType: 'nothing' })
  const post = (reason: string) => call(events, 'post', [], { resourceType: 'clusters', resourceId: cluster, reason })
  const claim = async (visibility: string) =>
    (await call(`${consumer}/claims`, 'post', ['c'], { visibility })).body.items[0]?.receipt
  await post('One')
  await post('One')
  const first = await claim('1m')
  await call(`${consumer}/claims/{receipt}`, 'patch', ['c', first], { visibility: '2m' })
  await call(`${consumer}/claims/{receipt}`, 'delete', ['c', first])
  await call(`${consumer}/claims/{receipt}`, 'patch', ['c', first], { visibility: '2m' })
  await post('Two')
  const second = await claim('1m')
  await call(`${consumer}/claims/{receipt}`, 'patch', ['c', second], { visibility: '0s' })
  await claim('1m')
  const dead = await call(`${consumer}/dead-letters`, 'get', ['c'])
  await call(`${consumer}/dead-letters/{id}/replay`, 'post', ['c', dead.body.items[0]?.id])
  const replayed = await claim('1m')
  await call(`${consumer}/claims/{receipt}/dead-letter`, 'post', ['c', replayed])
  await call(`${consumer}/claims/{receipt}/dead-letter`, 'post', ['c', replayed])
  await call(consumer, 'delete', ['c'])

  const archived = await api.call('POST', '/wifconfigs', { name: 'gone', spec: {} })
  await api.call('DELETE', `/wifconfigs/${archived.body.id}`)
  await api.call('POST', `/wifconfigs/${archived.body.id}/force-delete`, { reason: 'tests' })
  await call(`${BASE_PATH}/archive/{plural}`, 'get', ['wifconfigs'])
  await call(`${BASE_PATH}/archive/purge`, 'post', [], { kind: 'WifConfig' })

  const about = await fetch(`${api.url}/api/hyperfleet`)
  check('/api/hyperfleet', 'get', { status: about.status, headers: about.headers, body: await about.json() })
  await call(`${BASE_PATH}/openapi`, 'get', [])
  await call(`${BASE_PATH}/kinds`, 'get', [])

  const all = Object.values<Json>(document.paths).flatMap((item) =>
    Object.values<Json>(item).map(({ operationId }) => operationId),
  )
  expect(new Set(all).size, 'operation ids are unique').toBe(all.length)
  const elsewhere = ['getApi', 'getOpenApiPage']
  // Children can't be made flat: these only ever refuse.
  const refusing = ['createNodePool', 'createMachine']
  expect(all.filter((id) => ![...succeeded, ...elsewhere, ...refusing].includes(id))).toEqual([])
}, 120_000)

test('the page for people needs no script and loads nothing, and shows every operation', async () => {
  const { api, document } = await start()
  const response = await fetch(`${api.url}${BASE_PATH}/openapi.html`)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/)
  const page = await response.text()
  expect(page).not.toMatch(/<script|<link|<img|@import|url\(|\son\w+=|style=/i)
  for (const item of Object.values<Json>(document.paths))
    for (const { operationId } of Object.values<Json>(item)) expect(page).toContain(`id="${operationId}"`)
  for (const name of Object.keys(document.components.schemas)) expect(page).toContain(`id="schema-${name}"`)
})

test('the documents answer HEAD and a trailing slash, and refuse other methods', async () => {
  const { api } = await start()
  for (const path of [`${BASE_PATH}/openapi`, `${BASE_PATH}/openapi.html`, '/api/hyperfleet']) {
    expect((await fetch(`${api.url}${path}`, { method: 'HEAD' })).status).toBe(200)
    expect((await fetch(`${api.url}${path}/`)).status).toBe(200)
    const refused = await fetch(`${api.url}${path}`, { method: 'POST', body: '{}' })
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET'])
  }
  expect((await fetch(`${api.url}${BASE_PATH}`)).status).toBe(404)
  expect((await api.call('HEAD', '/clusters')).status).toBe(200)
})
