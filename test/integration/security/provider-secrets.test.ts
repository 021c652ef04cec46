/**
 * Attacks with the account of a provider, as the author of its task has it, on Secrets that are none of its business, and with that of pools,
 * which hand out the rights of providers: on a real API server with the default install, the delivered providers and the example, and pools at
 * work as their delivered account. docs/security.md.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { NAMESPACE, TASK_ACCOUNTS_NAMESPACE, WORK_NAMESPACE } from '#cmd/security/model.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type PoolsAtWork, poolsAtWork } from '../providers/pools.ts'
import { PATIENCE } from '../providers/world.ts'

const PROVIDERS = [
  { label: 'local', folder: 'kustomize/providers/local', account: 'cluster-local' },
  { label: 'hosted', folder: 'kustomize/providers/hosted', account: 'cluster-hosted' },
  { label: 'cluster-api', folder: 'kustomize/providers/cluster-api', account: 'cluster-api' },
  { label: 'acme', folder: 'examples/provider', account: 'cluster-acme' },
] as const
const ANOTHER = 'another-team'
const POOLS = `system:serviceaccount:${NAMESPACE}:hyperfleet-clusterpool`

let pools: PoolsAtWork
/** Where the cluster of each provider is, by its label. */
const places = new Map<string, string>()

beforeAll(async () => {
  pools = await poolsAtWork(PROVIDERS.map(({ folder }) => folder))
  for (const { label } of PROVIDERS) for (const place of await pools.pool(label)) places.set(label, place)
  await pools.cluster.kubectl('create', 'namespace', ANOTHER)
  for (const namespace of [NAMESPACE, TASK_ACCOUNTS_NAMESPACE, ANOTHER, ...places.values()])
    await pools.putSecret(namespace)
}, 240_000)

afterAll(() => pools?.[Symbol.asyncDispose]())

describe.for(PROVIDERS)('CLUSTER-64: the account of $label', ({ label, account }) => {
  test('attack: reads, by its name, a Secret of Muster, of the accounts of tasks, of another team, or beside another provider’s cluster', async () => {
    const reads = await pools.readerOf(account)
    const elsewhere = [...places].filter(([one]) => one !== label).map(([, place]) => place)
    for (const namespace of [NAMESPACE, TASK_ACCOUNTS_NAMESPACE, ANOTHER, ...elsewhere])
      expect([namespace, await reads(namespace)]).toEqual([namespace, false])
  })

  test('reads and writes beside its own cluster', async () => {
    const reads = await pools.readerOf(account)
    const place = places.get(label) ?? ''
    await vi.waitFor(async () => expect(await reads(place)).toBe(true), PATIENCE)
    const as = `--as=system:serviceaccount:${TASK_ACCOUNTS_NAMESPACE}:${account}`
    const name = `${place}-admin-kubeconfig`
    await pools.cluster.kubectl('create', 'secret', 'generic', name, '-n', place, as)
    await pools.cluster.kubectl('delete', 'secret', name, '-n', place, as)
  })

  // CLUSTER-78
  test('attack: rewrites or deletes a kubeconfig that the pool copied beside its cluster', async () => {
    const place = places.get(label) ?? ''
    const as = `--as=system:serviceaccount:${TASK_ACCOUNTS_NAMESPACE}:${account}`
    const kubectl = (...args: readonly string[]) => pools.cluster.kubectl(...args, `--namespace=${place}`)
    const name = 'infra-admin-kubeconfig'
    await kubectl('create', 'secret', 'generic', name)
    await kubectl('label', 'secret', name, `${POOL_LABELS.uid}=of-the-pool`)
    await vi.waitFor(() => kubectl('auth', 'can-i', 'delete', 'secrets', as), PATIENCE)
    const forged = '{"data":{"kubeconfig":"Zm9yZ2Vk"}}'
    await expect(kubectl('patch', 'secret', name, `--patch=${forged}`, as)).rejects.toThrow('is of the ClusterPool')
    await expect(kubectl('delete', 'secret', name, as)).rejects.toThrow('is of the ClusterPool')
  })
})

test('POOL-84: attack: an editor labels a namespace as a pool’s, and makes a cluster with the provider’s label there; its account is not let in', async () => {
  const { cluster, api } = pools
  const [hosted] = await Array.fromAsync(
    api.list(ClusterPool, { namespace: NAMESPACE, fieldSelector: 'metadata.name=hosted' }),
  )
  await cluster.kubectl('create', 'namespace', 'labelled')
  await cluster.kubectl('label', 'namespace', 'labelled', `hive.openshift.io/clusterpool-uid=${hosted?.metadata.uid}`)
  await api.create(ClusterDeployment, {
    metadata: { name: 'bait', namespace: 'labelled', labels: { provider: 'hosted' } },
    spec: { platform: { none: {} }, baseDomain: 'example.com', clusterName: 'bait' },
  })
  const bindings = async () => {
    const found = await cluster.kubectl(
      'get',
      'rolebindings',
      '-A',
      '-o',
      'custom-columns=:.metadata.namespace',
      '-l',
      'muster.dev/provider=hosted',
      '--no-headers',
    )
    return found.split('\n').filter(Boolean)
  }
  // Of a pass that has seen both.
  await cluster.kubectl('patch', 'clusterpool', 'hosted', '-n', NAMESPACE, '--type=merge', '-p', '{"spec":{"size":2}}')
  await vi.waitFor(async () => expect(await bindings()).toHaveLength(2), PATIENCE)
  expect(await bindings()).not.toContain('labelled')
})

// POOL-85
test('attack: who has taken over the manager of pools lets themselves in as a provider, where Muster is, elsewhere, or beside a cluster', async () => {
  const bind = (place: string, subject: string) =>
    pools.cluster.kubectl(
      'create',
      'rolebinding',
      'taken-over',
      `--namespace=${place}`,
      '--clusterrole=muster-cluster-hosted-beside',
      subject,
      `--as=${POOLS}`,
      '--dry-run=server',
    )
  const own = `--serviceaccount=${NAMESPACE}:hyperfleet-clusterpool`
  const account = `--serviceaccount=${TASK_ACCOUNTS_NAMESPACE}:cluster-hosted`
  const beside = places.get('hosted') ?? ''
  for (const place of ['kube-system', NAMESPACE, ANOTHER])
    for (const subject of [own, account])
      await expect(bind(place, subject)).rejects.toThrow('pools bind ClusterRoles in the namespaces of their clusters')
  for (const subject of [own, '--group=system:authenticated', '--user=mallory'])
    await expect(bind(beside, subject)).rejects.toThrow('pools let in accounts of tasks alone')
  await bind(beside, account)
})

// POOL-88
test('attack: who has taken over the manager of pools opens a way to the pods of Muster or of others, or out of those beside a cluster', async () => {
  const open = async (place: string, name: string) => {
    const file = join(await temporaryFolder('policy'), 'policy.json')
    const metadata = { name, namespace: place }
    const spec = { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress: [{}], egress: [{}] }
    await writeFile(file, JSON.stringify({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec }))
    return pools.cluster.kubectl('create', `--filename=${file}`, `--as=${POOLS}`, '--dry-run=server')
  }
  for (const place of [NAMESPACE, WORK_NAMESPACE, 'kube-system', ANOTHER])
    for (const name of ['mine', 'muster-jobs'])
      await expect(open(place, name)).rejects.toThrow('pools write NetworkPolicies in the namespaces of their clusters')
  const beside = places.get('hosted') ?? ''
  await expect(open(beside, 'mine')).rejects.toThrow('muster-default-deny and muster-jobs alone')
  await expect(open(beside, 'muster-jobs')).rejects.toThrow('already exists')
  const own = ['networkpolicy', 'muster-jobs', `--namespace=${beside}`, `--as=${POOLS}`]
  await expect(pools.cluster.kubectl('delete', ...own)).rejects.toThrow('forbidden')
  await expect(pools.cluster.kubectl('patch', ...own, '--patch={"spec":{"egress":[{}]}}')).rejects.toThrow('forbidden')
})

// POOL-85
test('attack: a person who may write ClusterRoles of what they have makes one for a provider, which pools may not bind; its clusters are made all the same', async () => {
  const { cluster } = pools
  const user = '--user=dev'
  const rights = '--resource=clusterroles.rbac.authorization.k8s.io'
  await cluster.kubectl('create', 'clusterrole', 'dev', '--verb=create,get,patch', rights)
  await cluster.kubectl('create', 'clusterrolebinding', 'dev', '--clusterrole=dev', user)
  await cluster.kubectl('create', 'clusterrolebinding', 'dev-reads', '--clusterrole=view', user)
  const make = ['create', 'clusterrole', 'stop', '--verb=get', '--resource=configmaps', '--as=dev']
  await vi.waitFor(() => cluster.kubectl(...make), PATIENCE)
  await cluster.kubectl('label', 'clusterrole', 'stop', 'muster.dev/provider=local', '--as=dev')
  const names = `muster.dev/provider-account=${TASK_ACCOUNTS_NAMESPACE}/anyone`
  await cluster.kubectl('annotate', 'clusterrole', 'stop', names, '--as=dev')
  await cluster.kubectl('patch', 'clusterpool', 'local', '-n', NAMESPACE, '--type=merge', '-p', '{"spec":{"size":3}}')
  await vi.waitFor(async () => {
    const found = await Array.fromAsync(pools.api.list(ClusterDeployment, { labelSelector: 'provider=local' }))
    expect(found).toHaveLength(3)
  }, PATIENCE)
})
