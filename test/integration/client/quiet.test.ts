import { expect, test } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { startControlPlane } from '#test/harness/index.ts'
import { CONFIG_MAPS, configMap, transportOf, watchConfigMaps } from './world.ts'

// In a file of its own, because a minute of silence is what it tests, on a server of its own. A server with more to do than it
// can leaves out a bookmark, seen when all tests run on two cores: then the watch is taken for dead once, and begins again.
test('a quiet watch goes on, with one new connection at most, and loses nothing', { timeout: 120_000 }, async () => {
  await using controlPlane = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
  const namespace = await controlPlane.namespace('quiet')
  const api = createApi(transportOf(controlPlane.kubeconfig))
  await using proxy = await controlPlane.proxy()
  // Not the list that asks, before a watch goes on, whether the server went back (RUNTIME-72).
  const watches = () => proxy.requests().filter(({ path }) => /\/configmaps\?.*watch=/.test(path))
  let beats = 0
  const { reflector, events, failures } = watchConfigMaps(transportOf(proxy.kubeconfig), namespace, {
    beat: () => {
      beats += 1
    },
  })
  await reflector.synced
  const before = beats
  await expect.poll(() => beats, { timeout: 100_000, interval: 500 }).toBeGreaterThan(before)
  expect(watches().length).toBeLessThanOrEqual(2)
  await api.create(CONFIG_MAPS, configMap(namespace, 'a'))
  await expect.poll(() => events, { timeout: 10_000 }).toEqual(['synced', 'added a'])
  expect(failures.length).toBe(watches().length - 1)
})
