import { expect, test } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { startControlPlane } from '#test/harness/index.ts'
import { CONFIG_MAPS, configMap, transportOf, watchConfigMaps } from './world.ts'

// In a file of its own, because a minute of silence is what it tests; on a server of its own, and once more when it fails,
// because a busy server leaves out a bookmark now and then, after which the reflector rightly takes the watch for dead.
test('a quiet watch lives on the bookmarks of the server, on one connection', {
  timeout: 120_000,
  retry: 1,
}, async () => {
  await using controlPlane = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
  const namespace = await controlPlane.namespace('quiet')
  const api = createApi(transportOf(controlPlane.kubeconfig))
  await using proxy = await controlPlane.proxy()
  const requests = () => proxy.requests().filter(({ path }) => path.includes('/configmaps'))
  let beats = 0
  const { reflector, events, failures } = watchConfigMaps(transportOf(proxy.kubeconfig), namespace, {
    beat: () => {
      beats += 1
    },
  })
  await reflector.synced
  const before = beats
  await expect.poll(() => beats, { timeout: 100_000, interval: 500 }).toBeGreaterThan(before)
  expect(requests()).toHaveLength(1)
  await api.create(CONFIG_MAPS, configMap(namespace, 'a'))
  await expect.poll(() => events).toEqual(['synced', 'added a'])
  expect(failures).toEqual([])
})
