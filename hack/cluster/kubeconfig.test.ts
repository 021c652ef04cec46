import { expect, test } from 'vitest'
import { reachedAt } from './kind/reach.ts'
import { type KubeconfigFile, kubeconfig, withToken } from './kubeconfig.ts'

const KIND: KubeconfigFile = {
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'kubernetes-admin@muster',
  clusters: [{ name: 'muster', cluster: { server: 'https://172.17.0.2:6443', 'certificate-authority-data': 'Q0E=' } }],
  users: [{ name: 'kubernetes-admin', user: { 'client-certificate-data': 'QQ==', 'client-key-data': 'Qg==' } }],
  contexts: [{ name: 'kubernetes-admin@muster', context: { cluster: 'muster', user: 'kubernetes-admin' } }],
}

test("a container's kubeconfig is rewritten to the mapped port and keeps its credentials", () => {
  expect(reachedAt(KIND, '127.0.0.1', 32768)).toEqual({
    ...KIND,
    clusters: [
      { name: 'muster', cluster: { server: 'https://127.0.0.1:32768', 'certificate-authority-data': 'Q0E=' } },
    ],
  })
})

test('an IPv6 host of the container runtime is put in brackets', () => {
  expect(reachedAt(KIND, '::1', 1).clusters[0]?.cluster.server).toBe('https://[::1]:1')
})

test("a token's kubeconfig has the cluster, the token, and nothing of the admin", () => {
  const context = 'kubernetes-admin@muster'
  const config = withToken(KIND, '/home/me/.kube', { context, token: 'secret', namespace: 'hyperfleet-system' })
  expect(config).toEqual({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': context,
    clusters: [{ name: context, cluster: KIND.clusters[0]?.cluster }],
    users: [{ name: context, user: { token: 'secret' } }],
    contexts: [{ name: context, context: { cluster: context, user: context, namespace: 'hyperfleet-system' } }],
  })
})

test('a relative path of a certificate stays true in another folder', () => {
  const config = {
    ...KIND,
    clusters: [{ name: 'muster', cluster: { server: 's', 'certificate-authority': 'ca.crt' } }],
  }
  const access = { context: 'kubernetes-admin@muster', token: 't', namespace: 'n' }
  const [entry] = withToken(config, '/home/me/.kube', access).clusters
  expect(entry?.cluster).toEqual({ server: 's', 'certificate-authority': '/home/me/.kube/ca.crt' })
})

test('a context that is not there is named', () => {
  const access = { context: 'prod', token: 't', namespace: 'n' }
  expect(() => withToken(KIND, '/k', access)).toThrow('has no cluster for its context "prod"')
})

test('our own kubeconfig carries the certificate in itself', () => {
  const config = kubeconfig({ name: 'muster', server: 'https://127.0.0.1:1', certificateAuthority: 'PEM', token: 't' })
  expect(config.clusters).toEqual([
    { name: 'muster', cluster: { server: 'https://127.0.0.1:1', 'certificate-authority-data': 'UEVN' } },
  ])
})
