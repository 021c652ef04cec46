import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { ApiError, isAlreadyExists, isConflict, NetworkError } from '#operator/client/errors.ts'
import { sharedControlPlane, tcpProxy } from '#test/harness/index.ts'
import { CONFIG_MAPS, configMap, OURS, transportOf } from './world.ts'

const world = async () => {
  const controlPlane = await sharedControlPlane()
  const namespace = await controlPlane.namespace('api')
  return { controlPlane, namespace, api: createApi(transportOf(controlPlane.kubeconfig)) }
}

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error) => error,
  )

test('an object is created, read, replaced, patched and deleted', async () => {
  const { namespace, api } = await world()
  const created = await api.create(CONFIG_MAPS, configMap(namespace, 'a', { v: '1' }))
  expect(await api.get(CONFIG_MAPS, 'a', namespace)).toEqual(created)
  const replaced = await api.replace(CONFIG_MAPS, { ...created, data: { v: '2' } })
  expect(replaced.data).toEqual({ v: '2' })
  const merged = await api.patch(CONFIG_MAPS, {
    name: 'a',
    namespace,
    type: 'merge',
    body: { data: { v: null, w: '3' } },
  })
  expect(merged.data).toEqual({ w: '3' })
  const guarded = [
    { op: 'test', path: '/metadata/resourceVersion', value: merged.metadata.resourceVersion },
    { op: 'add', path: '/metadata/finalizers', value: ['example.com/x'] },
  ]
  expect(
    (await api.patch(CONFIG_MAPS, { name: 'a', namespace, type: 'json', body: guarded })).metadata.finalizers,
  ).toEqual(['example.com/x'])
  await api.patch(CONFIG_MAPS, { name: 'a', namespace, type: 'merge', body: { metadata: { finalizers: null } } })
  await api.delete(CONFIG_MAPS, 'a', namespace)
  expect(await api.get(CONFIG_MAPS, 'a', namespace)).toBeUndefined()
})

test('what is not there reads as undefined and is deleted without an error', async () => {
  const { namespace, api } = await world()
  expect(await api.get(CONFIG_MAPS, 'nothing', namespace)).toBeUndefined()
  await api.delete(CONFIG_MAPS, 'nothing', namespace)
})

test('a write on an old state is a conflict, a second create is not', async () => {
  const { namespace, api } = await world()
  const first = await api.create(CONFIG_MAPS, configMap(namespace, 'a', { v: '1' }))
  await api.replace(CONFIG_MAPS, { ...first, data: { v: '2' } })
  const stale = await failure(api.replace(CONFIG_MAPS, { ...first, data: { v: '3' } }))
  expect([isConflict(stale), isAlreadyExists(stale)]).toEqual([true, false])
  expect(stale).toMatchObject({ status: 409, reason: 'Conflict', details: { name: 'a', kind: 'configmaps' } })
  const again = await failure(api.create(CONFIG_MAPS, configMap(namespace, 'a')))
  expect([isConflict(again), isAlreadyExists(again)]).toEqual([false, true])
  expect((await api.get(CONFIG_MAPS, 'a', namespace))?.data).toEqual({ v: '2' })
})

test('a delete meant for another object or state is refused', async () => {
  const { namespace, api } = await world()
  const old = await api.create(CONFIG_MAPS, configMap(namespace, 'a', { v: '1' }))
  const current = await api.replace(CONFIG_MAPS, { ...old, data: { v: '2' } })
  const { uid, resourceVersion } = current.metadata
  expect(isConflict(await failure(api.delete(CONFIG_MAPS, 'a', namespace, { uid: 'other' })))).toBe(true)
  const stale = { uid, resourceVersion: old.metadata.resourceVersion }
  expect(isConflict(await failure(api.delete(CONFIG_MAPS, 'a', namespace, stale)))).toBe(true)
  await api.delete(CONFIG_MAPS, 'a', namespace, { uid, resourceVersion, propagation: 'Background' })
  expect(await api.get(CONFIG_MAPS, 'a', namespace)).toBeUndefined()
})

// RUNTIME-21
test('a patch of the state that was seen is refused when the object has changed since', async () => {
  const { namespace, api } = await world()
  const seen = await api.create(CONFIG_MAPS, configMap(namespace, 'a', { v: '1' }))
  const patched = await api.patchIfUnchanged(CONFIG_MAPS, seen, { data: { v: '2' }, metadata: { labels: { a: 'b' } } })
  expect([patched.data, patched.metadata.labels?.a]).toEqual([{ v: '2' }, 'b'])
  expect(isConflict(await failure(api.patchIfUnchanged(CONFIG_MAPS, seen, { data: { v: '3' } })))).toBe(true)
  expect((await api.get(CONFIG_MAPS, 'a', namespace))?.data).toEqual({ v: '2' })
})

test('server-side apply owns what it applies, and leaves the fields of others unless forced', async () => {
  const { namespace, api } = await world()
  const mine = { fieldManager: 'muster-test' }
  await api.apply(CONFIG_MAPS, configMap(namespace, 'a', { mine: '1' }), mine)
  await api.apply(CONFIG_MAPS, configMap(namespace, 'a', { theirs: '1' }), { fieldManager: 'somebody' })
  const applied = await api.apply(CONFIG_MAPS, configMap(namespace, 'a', { mine: '2' }), mine)
  expect(applied.data).toEqual({ mine: '2', theirs: '1' })
  const taking = configMap(namespace, 'a', { mine: '2', theirs: '2' })
  expect(await failure(api.apply(CONFIG_MAPS, taking, mine))).toMatchObject({
    status: 409,
    details: { causes: [{ reason: 'FieldManagerConflict', field: '.data.theirs' }] },
  })
  expect((await api.apply(CONFIG_MAPS, taking, { ...mine, force: true })).data).toEqual({ mine: '2', theirs: '2' })
})

test('a list comes page by page, typed, and only as far as it is read', async () => {
  const { controlPlane, namespace, api } = await world()
  for (const name of ['a', 'b', 'c', 'd', 'e']) await api.create(CONFIG_MAPS, configMap(namespace, name))
  await using proxy = await controlPlane.proxy()
  const list = createApi(transportOf(proxy.kubeconfig)).list(CONFIG_MAPS, {
    namespace,
    labelSelector: OURS,
    pageSize: 2,
  })
  const names: string[] = []
  for await (const { kind, apiVersion, metadata } of list) {
    expect([apiVersion, kind]).toEqual(['v1', 'ConfigMap'])
    names.push(metadata.name)
    if (names.length === 3) break
  }
  expect(names).toEqual(['a', 'b', 'c'])
  expect(proxy.requests()).toHaveLength(2)
  expect(await Array.fromAsync(api.list(CONFIG_MAPS, { namespace, labelSelector: OURS, pageSize: 2 }))).toHaveLength(5)
  const one = api.list(CONFIG_MAPS, { namespace, fieldSelector: 'metadata.name=c' })
  expect((await Array.fromAsync(one)).map(({ metadata }) => metadata.name)).toEqual(['c'])
})

test('a forgotten namespace is an error, not an object that does not exist', async () => {
  const { api } = await world()
  await expect(api.get(CONFIG_MAPS, 'a')).rejects.toThrow('ConfigMap a needs a namespace')
  expect(() => api.create(CONFIG_MAPS, { metadata: { name: 'a' } })).toThrow('ConfigMap a needs a namespace')
})

test('a refusal by RBAC carries the sentence of the server', async () => {
  const { controlPlane, namespace } = await world()
  await controlPlane.rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'nobody' } })
  const api = createApi(transportOf(await controlPlane.kubeconfigFor('nobody', namespace)))
  const error = await failure(api.get(CONFIG_MAPS, 'a', namespace))
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({ status: 403, reason: 'Forbidden' })
  expect((error as Error).message).toContain(
    `User "system:serviceaccount:${namespace}:nobody" cannot get resource "configmaps"`,
  )
})

test.each([
  ['is for another name', { tlsServerName: 'elsewhere.example' }, "the server's certificate is for another name"],
  ['is not signed by our CA', { caData: '' }, "the server's certificate is not signed by the kubeconfig's"],
])('a server whose certificate %s is not talked to', async (_, change, message) => {
  const { controlPlane, namespace } = await world()
  const error = await failure(createApi(transportOf(controlPlane.kubeconfig, change)).get(CONFIG_MAPS, 'a', namespace))
  expect(error).toBeInstanceOf(NetworkError)
  expect((error as Error).message).toContain(message)
})

test('two hundred requests in a row share their connections, two hundred at once at most 64', async () => {
  const { controlPlane, namespace } = await world()
  await using proxy = await tcpProxy(controlPlane.server)
  const api = createApi(transportOf(controlPlane.kubeconfig, { server: proxy.url }))
  for (let number = 0; number < 200; number += 1) await api.get(CONFIG_MAPS, 'a', namespace)
  expect(proxy.connections()).toBeLessThanOrEqual(2)
  await Promise.all(Array.from({ length: 200 }, () => api.get(CONFIG_MAPS, 'a', namespace)))
  expect(proxy.connections()).toBeGreaterThan(2)
  expect(proxy.connections()).toBeLessThanOrEqual(64)
})

test('a proxy-url in the kubeconfig is gone through', async () => {
  const { controlPlane, namespace } = await world()
  const tunnels: string[] = []
  const proxy = createServer()
  proxy.on('connect', (request, client) => {
    tunnels.push(request.url ?? '')
    const upstream = connect(Number(request.url?.split(':')[1]), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connected\r\n\r\n')
      client.pipe(upstream).pipe(client)
    })
    upstream.on('error', () => client.destroy())
    client.on('error', () => upstream.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const api = createApi(transportOf(controlPlane.kubeconfig, { proxyUrl }))
  expect(await api.get(CONFIG_MAPS, 'a', namespace)).toBeUndefined()
  expect(tunnels).toEqual([new URL(controlPlane.server).host])
})

test('many requests may share one signal', async () => {
  const { namespace, api } = await world()
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  onTestFinished(() => {
    process.off('warning', note)
  })
  const bound = api.withLimits({ signal: new AbortController().signal })
  await Promise.all(Array.from({ length: 200 }, () => bound.get(CONFIG_MAPS, 'a', namespace)))
  expect(warnings).toEqual([])
})

test('a bound Api ends its requests with its signal', async () => {
  const { namespace, api } = await world()
  const reason = new Error('enough')
  expect(await failure(api.withLimits({ signal: AbortSignal.abort(reason) }).get(CONFIG_MAPS, 'a', namespace))).toBe(
    reason,
  )
  expect(await api.get(CONFIG_MAPS, 'a', namespace)).toBeUndefined()
})
