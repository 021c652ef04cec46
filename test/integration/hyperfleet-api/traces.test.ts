import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { type Json, serve } from './support.ts'

interface ReceivedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: readonly { key: string; value: { stringValue?: string; intValue?: number } }[]
}

/** A collector that keeps what it gets. OTLP/HTTP with JSON, as the specification has it. */
const startCollector = async () => {
  const spans: ReceivedSpan[] = []
  const services = new Set<string>()
  const server = createServer((request, response) => {
    void json(request).then((body: Json) => {
      for (const { resource, scopeSpans } of request.url === '/v1/traces' ? body.resourceSpans : []) {
        for (const { key, value } of resource.attributes) if (key === 'service.name') services.add(value.stringValue)
        for (const scope of scopeSpans) spans.push(...scope.spans)
      }
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, services }
}

test('a request, its transaction and the event that it publishes are spans of the caller’s trace', async () => {
  const collector = await startCollector()
  const api = await serve({ otlpEndpoint: collector.url })
  const { id } = await api.cluster('one')
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const event = await api.call(
    'POST',
    '/events',
    { resourceType: 'clusters', resourceId: id, reason: 'New' },
    { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
  )
  await api.call('GET', '/clusters/none')
  await api.stop()

  const named = (name: string) => collector.spans.filter((span) => span.name === name)
  const [request] = named('POST /api/hyperfleet/v1/events')
  const [published] = named('publish clusters')
  const transaction = named('transaction').find((span) => span.traceId === traceId)
  expect(request).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331' })
  expect(published).toMatchObject({ traceId, parentSpanId: request?.spanId })
  expect(transaction).toMatchObject({ traceId, parentSpanId: published?.spanId })
  expect(event.body.traceparent).toBe(`00-${traceId}-${published?.spanId}-01`)
  expect(request?.attributes).toContainEqual({ key: 'http.response.status_code', value: { intValue: 201 } })
  const requestId = { key: 'hyperfleet.request_id', value: { stringValue: event.headers.get('x-request-id') } }
  expect(request?.attributes).toContainEqual(requestId)
  const [created] = named('POST /api/hyperfleet/v1/clusters')
  expect(created?.traceId).not.toBe(traceId)
  expect(named('GET /api/hyperfleet/v1/clusters/{id}')).toHaveLength(1)
  expect([...collector.services]).toEqual(['hyperfleet-api'])
})

test('a collector that is away neither keeps the API from starting nor from serving nor from stopping', async () => {
  const api = await serve({ otlpEndpoint: 'http://127.0.0.1:9' })
  expect((await api.call('GET', '/clusters')).status).toBe(200)
  await api.stop()
})

test('without a collector an event carries its caller’s place in the trace', async () => {
  const api = await serve()
  const { id } = await api.cluster('one')
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const draft = { resourceType: 'clusters', resourceId: id, reason: 'New' }
  expect((await api.call('POST', '/events', draft, { traceparent })).body.traceparent).toBe(traceparent)
})
