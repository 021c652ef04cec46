import { expect, onTestFinished, test } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { repetitions } from '#test/harness/deep.ts'
import { type ControlPlane, sharedControlPlane, tcpProxy } from '#test/harness/index.ts'
import { CONFIG_MAPS, configMap, transportOf, watchConfigMaps } from './world.ts'

const world = async () => {
  const controlPlane = await sharedControlPlane()
  const namespace = await controlPlane.namespace('reflector')
  const transport = transportOf(controlPlane.kubeconfig)
  return { controlPlane, namespace, transport, api: createApi(transport) }
}

const change = (controlPlane: ControlPlane, namespace: string, name: string, v: string) =>
  controlPlane.rest('PATCH', `/api/v1/namespaces/${namespace}/configmaps/${name}`, { data: { v } })

test.each(['stream', 'pages'] as const)(
  'a list by %s shows what is there, then every change in order',
  async (initialList) => {
    const { controlPlane, namespace, transport, api } = await world()
    await api.create(CONFIG_MAPS, configMap(namespace, 'a', { v: '1' }))
    await api.create(CONFIG_MAPS, configMap(namespace, 'b', { v: '1' }))
    const { reflector, events, failures } = watchConfigMaps(transport, namespace, { initialList })
    expect(await reflector.synced).toBe(true)
    expect(events).toEqual(['listed a 1', 'listed b 1', 'synced'])
    await change(controlPlane, namespace, 'a', '2')
    await change(controlPlane, namespace, 'a', '3')
    await api.create(CONFIG_MAPS, configMap(namespace, 'c', { v: '1' }))
    await api.delete(CONFIG_MAPS, 'b', namespace)
    await expect.poll(() => events.slice(3)).toEqual(['modified a 2', 'modified a 3', 'added c 1', 'deleted b 1'])
    expect(reflector.store.get(`${namespace}/a`)).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
      data: { v: '3' },
    })
    expect(reflector.store.get(`${namespace}/a`)?.metadata).not.toHaveProperty('managedFields')
    expect(failures).toEqual([])
  },
)

test('an object that leaves the selector is deleted for us, one that enters is added', async () => {
  const { controlPlane, namespace, transport, api } = await world()
  await api.create(CONFIG_MAPS, configMap(namespace, 'a'))
  const { reflector, events } = watchConfigMaps(transport, namespace)
  await reflector.synced
  const label = (value: string | null) =>
    controlPlane.rest('PATCH', `/api/v1/namespaces/${namespace}/configmaps/a`, {
      metadata: { labels: { 'muster-test': value } },
    })
  await label(null)
  await label('yes')
  await expect.poll(() => events).toEqual(['listed a', 'synced', 'deleted a', 'added a'])
})

// RUNTIME-33
test('a watch that is cut again and again loses nothing and doubles nothing', async () => {
  const { controlPlane, namespace, api } = await world()
  await using proxy = await tcpProxy(controlPlane.server)
  await api.create(CONFIG_MAPS, configMap(namespace, 'kept'))
  await api.create(CONFIG_MAPS, configMap(namespace, 'gone'))
  const { reflector, events, failures } = watchConfigMaps(
    transportOf(controlPlane.kubeconfig, { server: proxy.url }),
    namespace,
  )
  await reflector.synced
  const expected = ['listed gone', 'listed kept', 'synced']
  for (const round of ['1', '2', '3']) {
    proxy.refuse()
    proxy.cut()
    await change(controlPlane, namespace, 'kept', round)
    await api.create(CONFIG_MAPS, configMap(namespace, `new-${round}`))
    proxy.accept()
    expected.push(`modified kept ${round}`, `added new-${round}`)
    await expect.poll(() => events, { timeout: 30_000 }).toEqual(expected)
  }
  await api.delete(CONFIG_MAPS, 'gone', namespace)
  await expect.poll(() => events).toEqual([...expected, 'deleted gone'])
  expect(failures).toContain('broken')
})

// RUNTIME-72
test.each(['a namespace', 'all namespaces'] as const)(
  'a watch of %s that is cut goes on from the change that it told last, and lists again when that has changed since',
  async (place) => {
    const { controlPlane, namespace, api } = await world()
    await using proxy = await controlPlane.proxy()
    await api.create(CONFIG_MAPS, configMap(namespace, 'a'))
    await api.create(CONFIG_MAPS, configMap(namespace, 'b'))
    const { reflector, events } = watchConfigMaps(
      transportOf(proxy.kubeconfig),
      namespace,
      place === 'all namespaces' ? { namespace: undefined, fieldSelector: `metadata.namespace=${namespace}` } : {},
    )
    const lists = () => proxy.requests().filter(({ path }) => path.includes('sendInitialEvents')).length
    await reflector.synced
    await change(controlPlane, namespace, 'a', '1')
    await expect.poll(() => events.at(-1)).toBe('modified a 1')

    const cutWhile = async (name: string, v: string) => {
      proxy.decide(() => ({ status: 503 }))
      proxy.cut()
      await change(controlPlane, namespace, name, v)
      proxy.decide(() => 'pass')
      await expect.poll(() => events.at(-1), { timeout: 30_000 }).toBe(`modified ${name} ${v}`)
    }
    await cutWhile('b', '2')
    expect(lists()).toBe(1)
    await cutWhile('b', '3')
    expect(lists()).toBe(2)
    expect(events).toEqual(['listed a', 'listed b', 'synced', 'modified a 1', 'modified b 2', 'modified b 3'])
  },
)

test('a connection that is dead without a word is noticed and replaced', async () => {
  const { controlPlane, namespace, api } = await world()
  await using proxy = await tcpProxy(controlPlane.server)
  const { reflector, events, failures } = watchConfigMaps(
    transportOf(controlPlane.kubeconfig, { server: proxy.url }),
    namespace,
    {
      inactivityTimeout: '2s',
    },
  )
  await reflector.synced
  proxy.hold()
  await api.create(CONFIG_MAPS, configMap(namespace, 'a'))
  await expect.poll(() => failures, { timeout: 20_000 }).toContain('broken')
  proxy.cut()
  proxy.release()
  await expect.poll(() => events, { timeout: 30_000 }).toEqual(['synced', 'added a'])
})

test('a list of a server without WatchList comes in pages', async () => {
  const { controlPlane, namespace, api } = await world()
  await using proxy = await controlPlane.proxy()
  proxy.decide(({ path }) => (path.includes('sendInitialEvents') ? { status: 422 } : 'pass'))
  await api.create(CONFIG_MAPS, configMap(namespace, 'a'))
  const { reflector, events, failures } = watchConfigMaps(transportOf(proxy.kubeconfig), namespace)
  await reflector.synced
  expect(failures).toEqual(['unsupported'])
  await api.delete(CONFIG_MAPS, 'a', namespace)
  await expect.poll(() => events).toEqual(['listed a', 'synced', 'deleted a'])
})

test('a watch that RBAC refuses says so, and works as soon as it is allowed', async () => {
  const { controlPlane, namespace } = await world()
  await controlPlane.rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'watcher' } })
  const messages: string[] = []
  const transport = transportOf(await controlPlane.kubeconfigFor('watcher', namespace))
  const { reflector } = watchConfigMaps(transport, namespace, {
    onHealth: (failure) => messages.push(failure?.cause === 'refused' ? failure.error.message : String(failure?.cause)),
  })
  await expect
    .poll(() => messages[0], { timeout: 20_000 })
    .toMatch(
      new RegExp(
        `^configmaps is forbidden: User "system:serviceaccount:${namespace}:watcher" cannot watch resource "configmaps"`,
      ),
    )
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  await controlPlane.rest('POST', `${rbac}/roles`, {
    metadata: { name: 'watch' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }],
  })
  await controlPlane.rest('POST', `${rbac}/rolebindings`, {
    metadata: { name: 'watch' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'watch' },
    subjects: [{ kind: 'ServiceAccount', name: 'watcher', namespace }],
  })
  expect(await reflector.synced).toBe(true)
  await expect.poll(() => messages.at(-1)).toBe('undefined')
})

/** Several pages of a list; an API server takes them one by one. */
const MANY = repetitions({ deep: 10_000, slice: 2_500 })

test(`${MANY} objects are all in the cache, by stream and by pages`, { timeout: 300_000 }, async () => {
  const { controlPlane, namespace, transport, api } = await world()
  onTestFinished(() => controlPlane.rest('DELETE', `/api/v1/namespaces/${namespace}/configmaps`).then(() => {}))
  const count = MANY
  const numbers = Array.from({ length: count }, (_, number) => number)
  const create = async (): Promise<void> => {
    for (let number = numbers.pop(); number !== undefined; number = numbers.pop()) {
      await api.create(CONFIG_MAPS, configMap(namespace, `c-${number}`, { v: String(number) }))
    }
  }
  await Promise.all(Array.from({ length: 32 }, create))

  for (const initialList of ['stream', 'pages'] as const) {
    const { reflector, events, failures } = watchConfigMaps(transport, namespace, { initialList })
    const byLastDigit = reflector.store.index(({ metadata, data }) => [[data?.v?.at(-1), metadata.name]])
    await reflector.synced
    expect(reflector.store.size).toBe(count)
    expect(events).toHaveLength(count + 1)
    for (let number = 0; number < count; number += 1) {
      expect(reflector.store.get(`${namespace}/c-${number}`)?.data?.v).toBe(String(number))
    }
    expect(byLastDigit.get('7')).toHaveLength(count / 10)
    expect(failures).toEqual([])
  }
})
