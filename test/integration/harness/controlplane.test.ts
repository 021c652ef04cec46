import { expect, test, vi } from 'vitest'
import { type ControlPlane, sharedControlPlane, startControlPlane } from '#test/harness/controlplane.ts'

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
  // Both began with one copy of our kinds, and are two clusters.
  const [uid, another] = await Promise.all([controlPlane, await sharedControlPlane()].map(clusterUid))
  expect(uid).not.toBe(another)
  expect(await controlPlane.kubectl('get', 'clusterpools', '--all-namespaces', '--output=name')).toBe('')
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

test('a controller that calls what no Role allows is told of when its control plane stops', async () => {
  const controlPlane = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
  const namespace = await controlPlane.namespace()
  await controlPlane.kubectl('create', 'serviceaccount', 'hyperfleet-sentinel', '-n', namespace)
  const asSentinel = `--kubeconfig=${await controlPlane.kubeconfigFor('hyperfleet-sentinel', namespace)}`
  // As a controller that gets on without the answer.
  await controlPlane.kubectl(asSentinel, 'get', 'sentinelconfigs', '-n', namespace).catch(() => undefined)
  await controlPlane.kubectl(asSentinel, 'delete', 'secret', 'any', '-n', namespace).catch(() => undefined)
  const inAnotherName = `--as=system:serviceaccount:${namespace}:another`
  await controlPlane.kubectl(asSentinel, inAnotherName, 'get', 'pods', '-n', namespace).catch(() => undefined)
  await expect(controlPlane.stop()).rejects.toThrow(
    /what no Role allows.*\n {2}hyperfleet-sentinel: delete secrets\n {2}hyperfleet-sentinel: impersonate serviceaccounts$/s,
  )
})

/** Of its namespace kube-system, which an API server makes right after its start. */
const clusterUid = ({ rest }: ControlPlane): Promise<string> =>
  vi.waitFor(
    async () => (await rest<{ metadata: { uid: string } }>('GET', '/api/v1/namespaces/kube-system')).metadata.uid,
    { timeout: 30_000 },
  )
