import { once } from 'node:events'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { inParallel, upTo } from '#test/bench/in-parallel.ts'
import { backUpEtcd } from '#test/harness/etcd-backup.ts'
import { type OwnControlPlane, startControlPlane, tcpProxy } from '#test/harness/index.ts'
import { CONFIG_MAPS, configMap, OURS, transportOf, watchConfigMaps } from './world.ts'

const PARTS = ['etcd', 'kube-apiserver'] as const

/** Whose parts the tests kill, one test after the other. */
let controlPlane: OwnControlPlane
/** Of the test. */
let namespace: string

beforeAll(async () => {
  controlPlane = await startControlPlane({ parts: PARTS })
})

beforeEach(async () => {
  // A test that failed may have left killed what it killed.
  namespace = await controlPlane.namespace().catch(async () => {
    for (const part of PARTS) await controlPlane.restart(part)
    return controlPlane.namespace()
  })
})

afterAll(() => controlPlane?.stop())

test('an API server that is killed and comes back costs no event and doubles none', { timeout: 180_000 }, async () => {
  const transport = transportOf(controlPlane.kubeconfig)
  const api = createApi(transport)
  for (const name of ['a', 'b', 'c']) await api.create(CONFIG_MAPS, configMap(namespace, name))
  const { reflector, events, failures } = watchConfigMaps(transport, namespace)
  await reflector.synced

  await controlPlane.kill('kube-apiserver')
  await expect.poll(() => failures, { timeout: 20_000 }).toContain('broken')
  await controlPlane.restart('kube-apiserver')

  await api.patch(CONFIG_MAPS, { name: 'a', namespace, type: 'merge', body: { data: { v: '2' } } })
  await api.delete(CONFIG_MAPS, 'b', namespace)
  await api.create(CONFIG_MAPS, configMap(namespace, 'd'))
  await expect.poll(() => events.length, { timeout: 60_000 }).toBe(7)
  expect(events.slice(0, 4)).toEqual(['listed a', 'listed b', 'listed c', 'synced'])
  expect(events.slice(4).toSorted()).toEqual(['added d', 'deleted b', 'modified a 2'])
})

// RUNTIME-33
test('when the server has lost the history, the list shows what was missed, deletions too', {
  timeout: 180_000,
}, async () => {
  await using proxy = await tcpProxy(controlPlane.server)
  const api = createApi(transportOf(controlPlane.kubeconfig))
  for (const name of ['changed', 'gone', 'replaced']) await api.create(CONFIG_MAPS, configMap(namespace, name))
  const { reflector, events, failures, names } = watchConfigMaps(
    transportOf(controlPlane.kubeconfig, { server: proxy.url }),
    namespace,
  )
  await reflector.synced
  // What is told last does not change any more, so that the watch goes on from there.
  await api.create(CONFIG_MAPS, configMap(namespace, 'same'))
  await expect.poll(() => events.at(-1)).toBe('added same')

  proxy.refuse()
  proxy.cut()
  await api.patch(CONFIG_MAPS, { name: 'changed', namespace, type: 'merge', body: { data: { v: '2' } } })
  await api.delete(CONFIG_MAPS, 'gone', namespace)
  await api.delete(CONFIG_MAPS, 'replaced', namespace)
  await api.create(CONFIG_MAPS, configMap(namespace, 'replaced'))
  await api.create(CONFIG_MAPS, configMap(namespace, 'new'))
  // A new API server's watch cache begins with what is there now: older resourceVersions are gone.
  await controlPlane.kill('kube-apiserver')
  await controlPlane.restart('kube-apiserver')
  proxy.accept()

  await expect.poll(() => failures, { timeout: 60_000 }).toContain('expired')
  await expect.poll(() => events.length, { timeout: 60_000 }).toBe(10)
  expect(events.slice(5).toSorted()).toEqual([
    'added new',
    'added replaced',
    'deleted gone',
    'deleted replaced',
    'modified changed 2',
  ])
  expect(events.indexOf('deleted replaced')).toBeLessThan(events.indexOf('added replaced'))
  expect(names()).toEqual(['changed', 'new', 'replaced', 'same'])
})

/** Asks etcd itself. @returns its revision */
const askEtcd = async ({ kubeconfig }: OwnControlPlane, path: string, body: object): Promise<number> => {
  const socketPath = join(dirname(kubeconfig), 'etcd.sock')
  const sent = request({ socketPath, path, method: 'POST' }).end(JSON.stringify(body))
  const [answer] = await once(sent, 'response')
  if (answer.statusCode !== 200) throw new Error(`etcd answered ${answer.statusCode}: ${await text(answer)}`)
  const { header } = JSON.parse(await text(answer)) as { readonly header: { readonly revision: string } }
  return Number(header.revision)
}

const revisionOf = (controlPlane: OwnControlPlane): Promise<number> =>
  askEtcd(controlPlane, '/v3/kv/range', { key: btoa('/') })

/** Makes etcd forget everything before now. */
const compact = async (controlPlane: OwnControlPlane): Promise<void> => {
  const revision = String(await revisionOf(controlPlane))
  await askEtcd(controlPlane, '/v3/kv/compaction', { revision, physical: true })
}

/** Has etcd count up to a revision, by what is nothing to Kubernetes. */
const countTo = async (controlPlane: OwnControlPlane, revision: number): Promise<void> => {
  while ((await askEtcd(controlPlane, '/v3/kv/put', { key: btoa('/of-nothing') })) < revision);
}

// RUNTIME-75
test('a list in pages goes on when the API server has forgotten the state of its first page, and nothing that changed meanwhile is missed', {
  timeout: 180_000,
}, async () => {
  const api = createApi(transportOf(controlPlane.kubeconfig))
  await inParallel(upTo(1_100), 32, (n) => api.create(CONFIG_MAPS, configMap(namespace, `c-${10_000 + n}`)))
  await using proxy = await controlPlane.proxy()
  let held = 0
  proxy.decide(async ({ path }) => {
    if (path.includes('sendInitialEvents')) return { status: 422 }
    if (!path.includes('continue=')) return 'pass'
    held += 1
    if (held > 2) return 'pass'
    // What the first page showed, what the second one will, and what none has.
    await api.delete(CONFIG_MAPS, `c-${10_000 + held}`, namespace)
    await api.delete(CONFIG_MAPS, `c-${11_090 + held}`, namespace)
    await api.create(CONFIG_MAPS, configMap(namespace, `c-${11_090 + held}`, { v: 'new' }))
    await api.create(CONFIG_MAPS, configMap(namespace, `b-${held}`))
    // Its cache has snapshots too.
    await controlPlane.kill('kube-apiserver')
    await compact(controlPlane)
    await controlPlane.restart('kube-apiserver')
    return 'pass'
  })
  const { reflector, failures, names } = watchConfigMaps(transportOf(proxy.kubeconfig), namespace)
  await reflector.synced
  expect(held).toBeGreaterThanOrEqual(2)
  expect(failures).not.toContain('slow')
  await expect.poll(() => names().slice(0, 3), { timeout: 30_000 }).toEqual(['b-1', 'b-2', 'c-10000'])
  const expected: string[] = []
  for await (const { metadata } of api.list(CONFIG_MAPS, { namespace, labelSelector: OURS }))
    expected.push(`${metadata.name} ${metadata.uid}`)
  // What went meanwhile is told by the watch, after the list.
  const known = () => [...reflector.store.values()].map(({ metadata }) => `${metadata.name} ${metadata.uid}`).toSorted()
  await expect.poll(known, { timeout: 30_000 }).toEqual(expected.toSorted())
})

// RUNTIME-72
test('an etcd that is put back to an earlier moment is noticed: what it has not is gone, and changes come as ever', {
  timeout: 180_000,
}, async () => {
  const transport = transportOf(controlPlane.kubeconfig)
  const api = createApi(transport)
  for (const name of ['kept', 'gone']) await api.create(CONFIG_MAPS, configMap(namespace, name, { v: '1' }))
  const backup = await backUpEtcd(controlPlane)

  await api.delete(CONFIG_MAPS, 'gone', namespace)
  await api.create(CONFIG_MAPS, configMap(namespace, 'later'))
  // A day's worth of revisions, so that the restored server is behind for long.
  const set = (v: string) => api.patch(CONFIG_MAPS, { name: 'kept', namespace, type: 'merge', body: { data: { v } } })
  for (let v = 2; v < 1_000; v++) await set(String(v))
  const { reflector, events, names } = watchConfigMaps(transport, namespace)
  await reflector.synced
  expect(names()).toEqual(['kept', 'later'])

  await backup.restore()
  await expect.poll(names, { timeout: 60_000 }).toEqual(['gone', 'kept'])
  await set('again')
  await expect.poll(() => events.at(-1), { timeout: 60_000 }).toBe('modified kept again')
})

// RUNTIME-72
test('an etcd that was put back is noticed though it has as many revisions as before when the watch comes back', {
  timeout: 180_000,
}, async () => {
  await using proxy = await tcpProxy(controlPlane.server)
  const api = createApi(transportOf(controlPlane.kubeconfig))
  const set = (namespace: string, name: string, v: string) =>
    api.patch(CONFIG_MAPS, { name, namespace, type: 'merge', body: { data: { v } } })

  // By what was told last before it went back.
  const namespaces = {
    change: await controlPlane.namespace('change'),
    deletion: await controlPlane.namespace('deletion'),
    nothing: await controlPlane.namespace('nothing'),
  }
  const all = Object.values(namespaces)
  for (const namespace of all)
    for (const name of ['kept', 'forgotten', 'gone']) await api.create(CONFIG_MAPS, configMap(namespace, name))
  const backup = await backUpEtcd(controlPlane)

  // Room for what an API server writes at its start, which is before a watch of that time can begin.
  await countTo(controlPlane, (await revisionOf(controlPlane)) + 500)
  for (const namespace of all) {
    await api.delete(CONFIG_MAPS, 'gone', namespace)
    await api.create(CONFIG_MAPS, configMap(namespace, 'later'))
    await set(namespace, 'kept', 'before')
  }
  const watches = all.map((namespace) =>
    watchConfigMaps(transportOf(controlPlane.kubeconfig, { server: proxy.url }), namespace),
  )
  await Promise.all(watches.map(({ reflector }) => reflector.synced))
  await set(namespaces.change, 'kept', 'last')
  await api.delete(CONFIG_MAPS, 'forgotten', namespaces.deletion)
  const [change, deletion, nothing] = watches
  await expect.poll(() => change?.events.at(-1)).toBe('modified kept last')
  await expect.poll(() => deletion?.events.at(-1)).toBe('deleted forgotten')
  expect(nothing?.events.at(-1)).toBe('synced')
  const before = await revisionOf(controlPlane)

  proxy.refuse()
  proxy.cut()
  await backup.restore()
  for (const namespace of all) await set(namespace, 'forgotten', 'anew')
  expect(await revisionOf(controlPlane)).toBeLessThan(before - 100)
  await countTo(controlPlane, before + 100)
  // So that the server has the versions that were told last, and can be watched from there.
  for (const namespace of all) await api.create(CONFIG_MAPS, configMap(namespace, 'newest'))
  proxy.accept()

  for (const { reflector } of watches) {
    const known = () =>
      [...reflector.store.values()]
        .map(({ metadata: { name }, data: { v = '' } = {} }) => `${name} ${v}`.trim())
        .toSorted()
    await expect.poll(known, { timeout: 60_000 }).toEqual(['forgotten anew', 'gone', 'kept', 'newest'])
  }
})
