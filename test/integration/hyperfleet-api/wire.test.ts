import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { PROBLEMS } from '#services/hyperfleet-api/problems/problem-types.ts'
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
test.each(['1e1', '0x10', '1.0', ' ', ' 1', '1 ', 'NaN', 'Infinity', '--1'])(
  'size=%j is no whole number',
  async (size) => {
    const api = await serve()
    for (const name of ['size', 'page']) {
      const answer = await api.call('GET', `/clusters?${name}=${encodeURIComponent(size)}`)
      expect([answer.status, answer.body.errors]).toEqual([400, [expect.objectContaining({ field: name })]])
    }
  },
)

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

/** What the Go service takes, or takes otherwise: docs/reference/from-the-go-service.md. */
describe('a body', () => {
  const post = async (body: string) => {
    const api = await serve()
    const { status, body: answer } = await api.call('POST', '/clusters', body)
    return { status, answer, code: answer.code, field: answer.errors?.[0]?.field }
  }
  const nested = (levels: number) => `{"name": "one", "spec": ${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}}`

  test.each(['Name', 'NAME'])('whose name is written %s has none', async (key) => {
    expect(await post(`{"${key}": "one", "spec": {}}`)).toMatchObject({ status: 400, field: 'name' })
  })

  test('has the labels that are written in lower case, and no others', async () => {
    const { status, answer } = await post('{"name": "one", "spec": {}, "Labels": {"region": "eu"}, "SPEC": {"a": 1}}')
    expect([status, answer.spec, 'labels' in answer]).toEqual([201, {}, false])
  })

  test('with null for a label is refused; null for all labels is none', async () => {
    expect(await post('{"name": "one", "spec": {}, "labels": {"region": null}}')).toMatchObject({ status: 400 })
    const { status, answer } = await post('{"name": "one", "spec": {}, "labels": null}')
    expect([status, 'labels' in answer]).toEqual([201, false])
  })

  test('needs no kind where the path says it', async () => {
    expect(await post('{"name": "one", "spec": {}}')).toMatchObject({ status: 201, answer: { kind: 'Cluster' } })
  })

  test('may be 64 levels deep', async () => {
    // The body itself is the first.
    expect(await post(nested(63))).toMatchObject({ status: 201 })
    expect(await post(nested(64))).toMatchObject({ status: 400, code: 'HYPERFLEET-VAL-006' })
  })

  test.each(['{"__proto__": 1}', '{"constructor": {"prototype": 1}}'])('with the spec %s is refused', async (spec) => {
    expect(await post(`{"name": "one", "spec": ${spec}}`)).toMatchObject({ status: 400, code: 'HYPERFLEET-VAL-006' })
  })

  test.each(['{}', 'x', ','])('that goes on with %j is refused', async (more) => {
    expect(await post(`{"name": "one", "spec": {}} ${more}`)).toMatchObject({ status: 400, code: 'HYPERFLEET-VAL-006' })
  })

  test('with a whole number beyond 2^53 loses digits', async () => {
    const { answer } = await post('{"name": "one", "spec": {"number": 9007199254740993}}')
    expect(answer.spec).toEqual({ number: 9007199254740992 })
  })
})

test('a parameter that is given twice is refused, but for order', async () => {
  const api = await serve()
  for (const name of ['size', 'page', 'search', 'labels', 'fields', 'after']) {
    const { status, body } = await api.call('GET', `/clusters?${name}=1&${name}=2`)
    expect([name, status, body.errors]).toEqual([name, 400, [expect.objectContaining({ field: name })]])
  }
  for (const name of ['b', 'a']) await api.cluster(`the-${name}`)
  const { status, body } = await api.call('GET', '/clusters?order=kind&order=name%20desc')
  expect([status, body.items.map(({ name }: { name: string }) => name)]).toEqual([200, ['the-b', 'the-a']])
})

test('the codes of the Go service have its statuses, and the page about it names each that is only here', async () => {
  const theirs = {
    400: ['VAL-000', 'VAL-005', 'VAL-006'],
    401: ['AUT-001', 'AUT-002', 'AUT-003'],
    403: ['AUZ-001'],
    404: ['NTF-000', 'NTF-001'],
    409: ['CNF-001', 'CNF-003'],
    422: ['VAL-000'],
    500: ['INT-001'],
    503: ['SVC-001'],
  }
  const known = Object.entries(theirs).flatMap(([status, codes]) => codes.map((code) => `${status} HYPERFLEET-${code}`))
  const ours = Object.values(PROBLEMS).map(({ code, status }) => `${status} ${code}`)
  expect(ours).toEqual(expect.arrayContaining(known))
  const page = await readFile('docs/reference/from-the-go-service.md', 'utf8')
  const [line = ''] = page.split('\n').filter((one) => one.includes('only here are'))
  const named = line
    .replace('LMT-001 to LMT-007', 'LMT-001 LMT-002 LMT-003 LMT-004 LMT-005 LMT-006 LMT-007')
    .match(/[A-Z]{3}-\d{3}(?!`)/g)
  const added = ours.filter((one) => !known.includes(one)).map((one) => one.replace(/.*HYPERFLEET-/, ''))
  expect(named?.toSorted()).toEqual(added.toSorted())
})
