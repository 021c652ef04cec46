import { expect, test } from 'vitest'
import { json, refuse, scriptedServer } from '#test/harness/scripted-server.ts'
import type { KubeObject, Resource } from '../model/resource.ts'
import { createApi } from './api.ts'
import { createTransport } from './transport.ts'

const NODES: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  plural: 'nodes',
  kind: 'Node',
  scope: 'Cluster',
  subresources: [],
}
const node = (name: string) => ({ metadata: { name } })

test("a list whose snapshot expires goes on with the server's token for what is true now", async () => {
  await using server = await scriptedServer((_, response, before) => {
    if (before === 0) json(response, 200, { metadata: { continue: 'old' }, items: [node('a')] })
    else if (before === 1) {
      const status = {
        kind: 'Status',
        code: 410,
        reason: 'Expired',
        message: 'too old',
        metadata: { continue: 'fresh' },
      }
      json(response, 410, status)
    } else json(response, 200, { metadata: {}, items: [node('b')] })
  })
  const transport = createTransport(server.kubeConfig)
  const nodes = await Array.fromAsync(createApi(transport).list(NODES))
  await transport.close()
  expect(nodes.map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
  expect(server.requests.map(({ query }) => query.get('continue'))).toEqual([null, 'old', 'fresh'])
})

test('an empty name is refused before it is asked for: its path would be that of everything', async () => {
  await using server = await scriptedServer((_, response) => json(response, 200, {}))
  const transport = createTransport(server.kubeConfig)
  const api = createApi(transport)
  const nothing = { name: '', namespace: undefined }
  await expect(api.delete(NODES, '')).rejects.toThrow(new TypeError('an empty name is no Node'))
  await expect(api.get(NODES, '')).rejects.toThrow(TypeError)
  await expect(async () => api.patch(NODES, { ...nothing, type: 'merge', body: {} })).rejects.toThrow(TypeError)
  await transport.close()
  expect(server.requests).toEqual([])
})

test('a list whose snapshot expires without such a token fails, rather than end early', async () => {
  await using server = await scriptedServer((_, response, before) =>
    before === 0
      ? json(response, 200, { metadata: { continue: 'old' }, items: [node('a')] })
      : refuse(response, 410, 'Expired', 'too old'),
  )
  const transport = createTransport(server.kubeConfig)
  await expect(Array.fromAsync(createApi(transport).list(NODES))).rejects.toMatchObject({ status: 410 })
  await transport.close()
})

test('RUNTIME-48: with the signal of its limits what is on its way is cut, also what was built on its transport', async () => {
  await using server = await scriptedServer((_, response) => void response.writeHead(200).write('{'))
  const transport = createTransport(server.kubeConfig)
  const over = new AbortController()
  const { signal } = new AbortController()
  const limited = createApi(transport).withLimits({ signal: over.signal })
  const get = { method: 'GET', path: '/x' } as const
  const onTheirWay = [
    limited.get(NODES, 'a'),
    createApi(limited.transport).get(NODES, 'a'),
    limited.transport.request({ ...get, signal }),
    Array.fromAsync(limited.transport.stream({ path: '/x', signal })),
  ].map((work) => work.then(String, (error: Error) => error.message))
  await expect.poll(() => server.requests).toHaveLength(onTheirWay.length)
  over.abort(new Error('the lease is lost'))
  expect(await Promise.all(onTheirWay)).toEqual(onTheirWay.map(() => expect.stringContaining('the lease is lost')))
  await transport.close()
})
