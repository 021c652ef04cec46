import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { systemClock } from '#operator/model/clock.ts'
import { startPostgres } from '#test/harness/index.ts'
import { onBothDatabases, openWatch, serve, temporaryData } from './support.ts'

const LOCAL = { host: '127.0.0.1', port: 0 }

onBothDatabases((fresh) => {
  test('says that it lives and is ready, and counts requests under the peer’s names', async () => {
    const api = await serve({ ...(await fresh()), health: LOCAL, metrics: LOCAL })
    for (const path of ['/healthz', '/readyz']) {
      const answer = await fetch(`${api.healthUrl}${path}`)
      expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }])
    }
    const { id } = await api.cluster('one')
    await api.call('GET', `/clusters/${id}`)
    const metrics = await (await fetch(`${api.metricsUrl}/metrics`)).text()
    expect(metrics).toContain(
      'hyperfleet_api_requests_total{method="GET",path="/api/hyperfleet/v1/clusters/-",code="200",component="api",version="0.0.0"} 1',
    )
    expect(metrics).toMatch(/^hyperfleet_api_request_duration_seconds_bucket/m)
  })

  test('stopping lets a waiting claim answer, and stops once however often it is asked', async () => {
    const api = await serve(await fresh(), systemClock)
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
    const waiting = api.call('POST', '/events/consumers/dns/claims', { wait: '60s' })
    const stream = await openWatch(api, '/clusters?watch=true')
    await stream.until(({ type }) => type === 'bookmark')
    await Promise.all([api.stop(), api.stop()])
    expect(await waiting).toMatchObject({ status: 200, body: { items: [] } })
    await expect(fetch(api.url)).rejects.toThrow()
  })

  test('serves an OpenAPI document that has every operation, and whose references lead somewhere', async () => {
    const api = await serve(await fresh())
    const { body } = await api.call('GET', '/openapi')
    expect(body.openapi).toBe('3.1.0')
    expect(Object.keys(body.paths)).toContain('/api/hyperfleet/v1/clusters/{parent_id}/nodepools/{id}/statuses')
    const ids = Object.values<Record<string, { operationId: string }>>(body.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    )
    expect(new Set(ids).size).toBe(ids.length)
    const references = JSON.stringify(body).match(/(?<="\$ref":"#\/components\/schemas\/)\w+/g) ?? []
    expect(references.filter((name) => body.components.schemas[name] === undefined)).toEqual([])
    expect(references.length).toBeGreaterThan(20)
  })
})

describe('a data folder', () => {
  test('keeps everything over a restart, and a watch goes on where it was', async () => {
    const { dataDir } = await temporaryData()
    const first = await serve({ dataDir })
    await first.cluster('one')
    const version = (await first.call('GET', '/clusters')).headers.get('muster-resource-version')
    await first.cluster('two')
    await first.stop()
    const second = await serve({ dataDir })
    expect((await second.call('GET', '/clusters')).body.total).toBe(2)
    const stream = await openWatch(second, `/clusters?watch=true&resourceVersion=${version}`)
    const missed = await stream.until(({ type }) => type === 'bookmark')
    expect(missed.at(-2)?.object.name).toBe('two')
  })

  test('serves one process at a time', async () => {
    const { dataDir } = await temporaryData()
    await serve({ dataDir })
    await expect(serve({ dataDir })).rejects.toThrow('is another muster api using this data folder?')
  })
})

// API-46
test('an address that strangers reach is refused unless it is allowed on purpose', async () => {
  const everywhere = { listen: { port: 0 } }
  await expect(serve(everywhere)).rejects.toThrow('without authentication the API would be open to the network')
  await expect(serve({ listen: { host: '0.0.0.0', port: 0 } })).rejects.toThrow('open to the network on 0.0.0.0')
  const api = await serve({ ...everywhere, allowUnauthenticated: true })
  expect((await api.call('GET', '/clusters')).status).toBe(200)
})

test('a body of more than 1 MiB is 413, and headers beyond 16 KiB never reach the service', async () => {
  const api = await serve()
  const large = await api.call('POST', '/clusters', { name: 'one', spec: { a: 'x'.repeat(1024 * 1024) } })
  expect([large.status, large.body.code]).toEqual([413, 'HYPERFLEET-LMT-002'])
  const headers = await fetch(`${api.url}/api/hyperfleet/v1/clusters`, { headers: { 'x-much': 'x'.repeat(20_000) } })
  expect(headers.status).toBe(431)
})

describe.skipIf(findPostgres() === undefined)('when PostgreSQL goes away', () => {
  test('requests are 503 without a word of SQL, readiness says so, and all is well when it is back', async () => {
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const api = await serve({ databaseUrl: postgres.url, health: LOCAL })
    await api.cluster('one')
    const stream = await openWatch(api, '/clusters?watch=true')
    await stream.until(({ type }) => type === 'bookmark')
    await postgres.kill()
    const refused = await api.call('GET', '/clusters')
    expect([refused.status, refused.body.code]).toEqual([503, 'HYPERFLEET-SVC-001'])
    expect(JSON.stringify(refused.body)).not.toMatch(/select|postgres|127\.0\.0\.1/i)
    expect((await fetch(`${api.healthUrl}/readyz`)).status).toBe(503)
    await postgres.restart()
    let created = await api.call('POST', '/clusters', { name: 'two', spec: {} })
    while (created.status === 503) created = await api.call('POST', '/clusters', { name: 'two', spec: {} })
    expect(created.status).toBe(201)
    expect((await stream.next()).object.name).toBe('two')
  })
})
