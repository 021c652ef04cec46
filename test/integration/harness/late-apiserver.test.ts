import { expect, test } from 'vitest'
import { startControlPlane } from '#test/harness/index.ts'
import { startLateApiServer } from '#test/harness/late-apiserver.ts'

interface Names {
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
}

test('of two API servers on one etcd one hears of changes late: its cache is behind, its reads are slow, its writes are at once', {
  timeout: 240_000,
}, async () => {
  await using plane = await startControlPlane({ parts: ['etcd', 'kube-apiserver'], crds: false })
  await using late = await startLateApiServer(plane, { watches: 8_000, reads: 1_000 })
  const path = '/api/v1/namespaces/default/configmaps'
  const cached = async () =>
    (await late.rest<Names>('GET', `${path}?resourceVersion=0`)).items.map(({ metadata }) => metadata.name)
  await plane.rest('POST', path, { metadata: { name: 'here' } })
  await late.rest('POST', path, { metadata: { name: 'there' } })
  const written = performance.now()
  expect(await cached()).toEqual(expect.not.arrayContaining(['here', 'there']))
  expect(await late.rest('GET', `${path}/here`)).toMatchObject({ metadata: { name: 'here' } })
  expect(performance.now() - written).toBeGreaterThan(1_000)
  expect(await plane.rest('GET', `${path}/there`)).toMatchObject({ metadata: { name: 'there' } })
  await expect.poll(cached).toEqual(expect.arrayContaining(['here', 'there']))
  expect(performance.now() - written).toBeGreaterThan(7_000)
})
