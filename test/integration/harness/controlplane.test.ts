import { expect, test } from 'vitest'
import { sharedControlPlane, startControlPlane } from '#test/harness/controlplane.ts'

test('a namespace of the shared control plane belongs to one test', async () => {
  const controlPlane = await sharedControlPlane()
  const names = await Promise.all([controlPlane.namespace(), controlPlane.namespace()])
  expect(new Set(names).size).toBe(2)
  await controlPlane.kubectl('create', 'configmap', 'mine', '-n', names[0])
  expect(await controlPlane.kubectl('get', 'configmap', 'mine', '-n', names[0], '-o', 'name')).toBe('configmap/mine\n')
})

test("a ServiceAccount's kubeconfig may do what its Role says and nothing else", async () => {
  const controlPlane = await sharedControlPlane()
  const namespace = await controlPlane.namespace()
  await controlPlane.kubectl('create', 'serviceaccount', 'reader', '-n', namespace)
  await controlPlane.kubectl('create', 'role', 'reader', '--verb=list', '--resource=configmaps', '-n', namespace)
  const binding = ['rolebinding', 'reader', '--role=reader', `--serviceaccount=${namespace}:reader`]
  await controlPlane.kubectl('create', ...binding, '-n', namespace)
  const asReader = `--kubeconfig=${await controlPlane.kubeconfigFor('reader', namespace)}`

  await controlPlane.kubectl(asReader, 'get', 'configmaps')
  await expect(controlPlane.kubectl(asReader, 'get', 'configmaps', '-n', 'kube-system')).rejects.toThrow('Forbidden')
})

test('an API server that was killed comes back on the same port with the same data', async () => {
  await using controlPlane = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
  const namespace = await controlPlane.namespace()
  await controlPlane.kill('kube-apiserver')
  await expect(controlPlane.rest('GET', `/api/v1/namespaces/${namespace}`)).rejects.toThrow('ECONNREFUSED')
  await controlPlane.restart('kube-apiserver')
  expect(await controlPlane.rest('GET', `/api/v1/namespaces/${namespace}`)).toMatchObject({
    metadata: { name: namespace },
  })
})

test('an etcd that was killed keeps what was written', async () => {
  await using controlPlane = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
  const namespace = await controlPlane.namespace()
  await controlPlane.restart('etcd')
  await expect
    .poll(() => controlPlane.rest('GET', `/api/v1/namespaces/${namespace}`).catch(String), { timeout: 30_000 })
    .toMatchObject({ metadata: { name: namespace } })
})
