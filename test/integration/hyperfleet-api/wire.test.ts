import { request } from 'node:http'
import { expect, test } from 'vitest'
import { requestTo, serve } from './support.ts'

/** What callers write wrongly, or as another API takes it. */

// API-76
test.each(['1e400', '-1e400', '[[{"deep": 1e999}]]'])(
  'a spec with %s is refused, not stored as null',
  async (number) => {
    const api = await serve()
    const answer = await api.call('POST', '/clusters', `{"name": "one", "spec": {"number": ${number}}}`)
    expect([answer.status, answer.body.code]).toEqual([400, 'HYPERFLEET-VAL-006'])
    expect((await api.call('GET', '/clusters')).body.total).toBe(0)
  },
)

// API-76
test.each(['1e1', '0x10', '1.0', ' 1', '1 ', 'NaN', 'Infinity', '--1'])('size=%j is no whole number', async (size) => {
  const api = await serve()
  for (const name of ['size', 'page']) {
    const answer = await api.call('GET', `/clusters?${name}=${encodeURIComponent(size)}`)
    expect([answer.status, answer.body.errors]).toEqual([400, [expect.objectContaining({ field: name })]])
  }
})

test('an empty page or size is as if it were not given', async () => {
  const api = await serve()
  const answer = await api.call('GET', '/clusters?page=&size=')
  expect([answer.status, answer.body]).toEqual([200, { items: [], page: 1, size: 0, total: 0 }])
  expect((await api.call('GET', '/clusters?size=007&page=%2B1')).status).toBe(200)
})

test('a selector is one of Kubernetes: an empty set is the empty value, and keys may be called in and notin', async () => {
  const api = await serve()
  await api.cluster('empty', { env: '', in: 'x' })
  await api.cluster('dev', { env: 'dev', notin: 'y' })
  const names = async (labels: string) =>
    (await api.call('GET', `/clusters?labels=${encodeURIComponent(labels)}`)).body.items.map(
      ({ name }: { name: string }) => name,
    )
  expect(await names('env in ()')).toEqual(['empty'])
  expect(await names('env notin ()')).toEqual(['dev'])
  expect(await names('in')).toEqual(['empty'])
  expect(await names('in in (x)')).toEqual(['empty'])
  expect(await names('!in,notin notin (z)')).toEqual(['dev'])
})

// API-76
test.each(['OPTIONS', 'PROPFIND', 'TRACE', 'POST'])('%s where it is not possible is a problem', async (method) => {
  const api = await serve()
  const answer = await new Promise<{
    status: number | undefined
    type: string | undefined
    allow: string | undefined
    body: string
  }>((resolve, reject) => {
    const sent = request(`${api.url}/api/hyperfleet/v1/openapi`, { method }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk
      })
      const { 'content-type': type, allow } = response.headers
      response.on('end', () => resolve({ status: response.statusCode, type, allow, body }))
    })
    sent.on('error', reject).end()
  })
  expect(answer).toMatchObject({ type: 'application/problem+json' })
  expect(JSON.parse(answer.body)).toMatchObject({ status: answer.status })
  if (method === 'OPTIONS' || method === 'POST') expect([answer.status, answer.allow]).toEqual([405, 'GET'])
})

test('OPTIONS answers what a path takes', async () => {
  const api = await serve()
  const answer = await requestTo(`${api.url}/api/hyperfleet/v1`)('OPTIONS', '/clusters')
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST'])
})
