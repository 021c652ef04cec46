import { expect, test } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { startControlPlane, tcpProxy } from '#test/harness/index.ts'
import { CONFIG_MAPS, configMap, transportOf, watchConfigMaps } from './world.ts'

const PARTS = ['etcd', 'kube-apiserver'] as const
const NAMESPACE = 'default'

test('an API server that is killed and comes back costs no event and doubles none', { timeout: 180_000 }, async () => {
  await using controlPlane = await startControlPlane({ parts: PARTS })
  const transport = transportOf(controlPlane.kubeconfig)
  const api = createApi(transport)
  for (const name of ['a', 'b', 'c']) await api.create(CONFIG_MAPS, configMap(NAMESPACE, name))
  const { reflector, events, failures } = watchConfigMaps(transport, NAMESPACE)
  await reflector.synced

  await controlPlane.kill('kube-apiserver')
  await expect.poll(() => failures, { timeout: 20_000 }).toContain('broken')
  await controlPlane.restart('kube-apiserver')

  await api.patch(CONFIG_MAPS, { name: 'a', namespace: NAMESPACE, type: 'merge', body: { data: { v: '2' } } })
  await api.delete(CONFIG_MAPS, 'b', NAMESPACE)
  await api.create(CONFIG_MAPS, configMap(NAMESPACE, 'd'))
  await expect.poll(() => events.length, { timeout: 60_000 }).toBe(7)
  expect(events.slice(0, 4)).toEqual(['listed a', 'listed b', 'listed c', 'synced'])
  expect(events.slice(4).toSorted()).toEqual(['added d', 'deleted b', 'modified a 2'])
})

// RUNTIME-33
test('when the server has lost the history, the list shows what was missed, deletions too', {
  timeout: 180_000,
}, async () => {
  await using controlPlane = await startControlPlane({ parts: PARTS })
  await using proxy = await tcpProxy(controlPlane.server)
  const api = createApi(transportOf(controlPlane.kubeconfig))
  for (const name of ['changed', 'gone', 'replaced', 'same']) await api.create(CONFIG_MAPS, configMap(NAMESPACE, name))
  const { reflector, events, failures, names } = watchConfigMaps(
    transportOf(controlPlane.kubeconfig, { server: proxy.url }),
    NAMESPACE,
  )
  await reflector.synced

  proxy.refuse()
  proxy.cut()
  await api.patch(CONFIG_MAPS, { name: 'changed', namespace: NAMESPACE, type: 'merge', body: { data: { v: '2' } } })
  await api.delete(CONFIG_MAPS, 'gone', NAMESPACE)
  await api.delete(CONFIG_MAPS, 'replaced', NAMESPACE)
  await api.create(CONFIG_MAPS, configMap(NAMESPACE, 'replaced'))
  await api.create(CONFIG_MAPS, configMap(NAMESPACE, 'new'))
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
