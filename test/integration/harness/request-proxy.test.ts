import { expect, test } from 'vitest'
import { sharedControlPlane } from '#test/harness/index.ts'

test('the fate of each request is decided before the API server', async () => {
  const controlPlane = await sharedControlPlane()
  const namespace = await controlPlane.namespace()
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  await using proxy = await controlPlane.proxy()
  const create = (name: string) =>
    controlPlane.kubectl(`--kubeconfig=${proxy.kubeconfig}`, 'create', 'configmap', name, '-n', namespace)
  const names = async () =>
    (await controlPlane.rest<{ items: { metadata: { name: string } }[] }>('GET', path)).items
      .map(({ metadata }) => metadata.name)
      .filter((name) => name !== 'kube-root-ca.crt')

  await create('passed')
  proxy.decide(({ method }) => (method === 'POST' ? 'drop' : 'pass'))
  await expect(create('dropped')).rejects.toThrow()
  proxy.decide(({ method }) => (method === 'POST' ? { status: 409 } : 'pass'))
  await expect(create('refused')).rejects.toThrow('request-proxy answers 409')
  expect(await names()).toEqual(['passed'])

  proxy.decide(({ method }) => (method === 'POST' ? 'lose' : 'pass'))
  await expect(create('lost')).rejects.toThrow()
  expect(await names()).toEqual(['lost', 'passed'])
})
