import { expect, test } from 'vitest'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import type { ClusterDeployment } from '../v1/clusterdeployment.ts'
import { parseAdminKubeconfig, readAdminKubeconfig } from './admin-kubeconfig.ts'

const kubeconfig = (cluster: object, user: object, more: object = {}): string =>
  JSON.stringify({
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://cluster.example:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    ...more,
  })

const read = (text: string) => parseAdminKubeconfig({ text, secret: 'n/admin' })

// AGENT-21
test('a kubeconfig with everything in it is taken', () => {
  const config = read(kubeconfig({ 'certificate-authority-data': 'YQ==' }, { token: 't' }))
  expect(config.getCurrentCluster()?.server).toBe('https://cluster.example:6443')
})

test.each([
  [
    'exec',
    {},
    { exec: { command: 'sh', args: ['-c', 'touch /tmp/x'], apiVersion: 'client.authentication.k8s.io/v1' } },
  ],
  ['auth-provider', {}, { 'auth-provider': { name: 'gcp', config: { 'cmd-path': 'sh' } } }],
  ['tokenFile', {}, { tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' }],
  ['token-file', {}, { 'token-file': '/etc/passwd' }],
  ['client-key', {}, { 'client-key': '/etc/key' }],
  ['certificate-authority', { 'certificate-authority': '/etc/ca' }, { token: 't' }],
])('one with %s is refused: it would have this process run programs or read its files', (field, cluster, user) => {
  expect(() => read(kubeconfig(cluster, user))).toThrow(
    `the kubeconfig in the Secret n/admin has ${field}: write in what it needs`,
  )
})

test.each([
  ['{', 'is no YAML'],
  ['hello', 'has no current-context with a cluster and a user'],
  [kubeconfig({}, {}, { 'current-context': 'b' }), 'has no current-context with a cluster and a user'],
  [kubeconfig({ server: 'here' }, {}), 'has the server "here", which is no URL'],
  [kubeconfig({ server: 'file:///etc/passwd' }, {}), 'which is no URL'],
  [kubeconfig({ server: 'https://a:b@cluster.example' }, {}), 'which is written with credentials'],
  [kubeconfig({ server: `https://cluster.example/${'x'.repeat(3_000)}` }, {}), 'which is longer than 2048 characters'],
  [kubeconfig({ server: 'https://169.254.169.254' }, {}), 'a link-local address'],
  [kubeconfig({ server: 'https://[fe80::1]:6443' }, {}), 'a link-local address'],
  [kubeconfig({}, {}, { users: 'none' }), 'in the Secret n/admin'],
])('%s is refused with the reason', (text, reason) => {
  expect(() => read(text)).toThrow(reason)
})

test.each([
  ['its own', 'cluster-1', undefined],
  ['one that no adapter made', undefined, undefined],
  ['one that was made for another record since', 'cluster-2', /was made for the cluster cluster-2/],
])('CLUSTER-18: the Secret that a cluster names: %s', async (_what, id, refusal) => {
  const cluster = {
    ...aClusterDeployment({}, { clusterMetadata: { adminKubeconfigSecretRef: { name: 'kube' } } }),
    status: { hyperfleet: { id: 'cluster-1' } },
  } as unknown as ClusterDeployment
  const labels = id === undefined ? {} : { 'muster.dev/resource-id': id }
  const secret = { metadata: { name: 'kube', namespace: 'one', labels }, data: { kubeconfig: btoa('a: b') } }
  const reading = readAdminKubeconfig({ get: async () => secret } as never, cluster)
  if (refusal === undefined) expect(await reading).toMatchObject({ text: 'a: b' })
  else await expect(reading).rejects.toThrow(refusal)
})
