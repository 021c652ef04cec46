import { expect, test } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { CONFIG_MAPS, configMap, transportOf, watchConfigMaps } from './world.ts'

// In a file of its own: a minute of silence is what it tests.
test('a quiet watch lives on the bookmarks of the server, on one connection', { timeout: 120_000 }, async () => {
  const controlPlane = await sharedControlPlane()
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
