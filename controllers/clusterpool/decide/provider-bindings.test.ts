/** POOL-84: in the namespace of each cluster its provider's account is let in, and no other's. */
import { describe, expect, test } from 'vitest'
import { PROVIDER_ACCOUNT_ANNOTATION, PROVIDER_LABEL, PROVIDER_ROLE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import type { ClusterRole } from '#apis/kubernetes.ts'
import { aCluster, aNamespace, aPool } from '#test/worlds/clusterpool/builders.ts'
import { planPass } from '#test/worlds/clusterpool/scenario.ts'
import type { PoolNamespace } from '../model/observed.ts'
import { type ProviderRole, providerRoleOf } from '../model/provider.ts'

const roleOf = (provider: string, name = `provider-${provider}`): ProviderRole => ({
  provider,
  name,
  account: { kind: 'ServiceAccount', namespace: 'tasks', name: provider },
})

const boundTo = (role: ProviderRole, more: Partial<PoolNamespace['providerBindings'][number]> = {}) => ({
  name: role.name,
  uid: 'u',
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role.name },
  subjects: [role.account],
  isLabelled: true,
  ...more,
})

const [LOCAL, HOSTED, WATCH] = [roleOf('local'), roleOf('hosted'), roleOf('local', 'more-of-local')]

/** A cluster in the namespace of its name. */
const clusterOf = (name: string, provider: string, deleting = false) => {
  const cluster = aCluster(name, { deleting })
  return { ...cluster, metadata: { ...cluster.metadata, labels: { [PROVIDER_LABEL]: provider } } }
}

/** What is bound: `role in namespace`. */
const bound = (
  clusters: readonly ReturnType<typeof aCluster>[],
  namespaces: readonly PoolNamespace[],
  providerRoles: readonly ProviderRole[] = [LOCAL, HOSTED],
  pool = aPool({ size: clusters.length }),
) =>
  planPass({ pool, clusters, namespaces, providerRoles }).actions.flatMap((one) =>
    one.action === 'BindProvider' ? [`${one.role.name} in ${one.namespace}`] : [],
  )

test('that of its own label, with all its roles', () => {
  const clusters = [clusterOf('a', 'local'), clusterOf('b', 'hosted'), clusterOf('c', 'unknown'), aCluster('d')]
  const namespaces = ['d', 'c', 'b', 'a', 'empty'].map((name) => aNamespace(name))
  const all = ['provider-local in a', 'more-of-local in a', 'provider-hosted in b']
  expect(bound(clusters, namespaces, [LOCAL, HOSTED, WATCH])).toEqual(all)
})

test('as long as the cluster is there, also when it is being deleted, and its pool', () => {
  const clusters = [clusterOf('a', 'local', true)]
  const deleted = aPool({ size: 0, deleted: true })
  expect(bound(clusters, [aNamespace('a')])).toEqual(['provider-local in a'])
  expect(bound(clusters, [aNamespace('a')], [LOCAL], deleted)).toEqual(['provider-local in a'])
})

test('not where the pool did not make the namespace, nor where it ends', () => {
  const clusters = [clusterOf('a', 'local'), clusterOf('b', 'local')]
  expect(bound(clusters, [{ ...aNamespace('b'), terminating: true }])).toEqual([])
})

test.for<[string, Parameters<typeof boundTo>[1], boolean]>([
  ['as it should be', {}, true],
  ['without its subject', { subjects: [] }, false],
  ['with one more', { subjects: [LOCAL.account, HOSTED.account] }, false],
  ['with another', { subjects: [HOSTED.account] }, false],
  ['with a user of its name', { subjects: [{ ...LOCAL.account, kind: 'User' }] }, false],
  ['of another role', { roleRef: { apiGroup: '', kind: 'ClusterRole', name: 'cluster-admin' } }, false],
  ['of a Role of that name', { roleRef: { apiGroup: '', kind: 'Role', name: LOCAL.name } }, false],
  ['of no pool', { isLabelled: false }, false],
])('a binding %s', ([, difference, isRight]) => {
  const namespace = { ...aNamespace('a'), providerBindings: [boundTo(LOCAL, difference)] }
  expect(bound([clusterOf('a', 'local')], [namespace])).toEqual(isRight ? [] : ['provider-local in a'])
})

describe('what a ClusterRole says', () => {
  const saying = (provider?: string, account?: string): ClusterRole =>
    ({
      metadata: {
        name: 'role',
        labels: provider === undefined ? {} : { [PROVIDER_ROLE_LABEL]: provider },
        annotations: account === undefined ? {} : { [PROVIDER_ACCOUNT_ANNOTATION]: account },
      },
    }) as ClusterRole

  test('a provider and its account', () =>
    expect(providerRoleOf(saying('local', 'tasks/cluster-local'))).toEqual({
      provider: 'local',
      name: 'role',
      account: { kind: 'ServiceAccount', namespace: 'tasks', name: 'cluster-local' },
    }))
  test.for([
    [undefined, 'tasks/a'],
    ['local', undefined],
    ['local', 'a'],
    ['local', 'tasks/a/b'],
    ['local', '/a'],
  ] as const)('%j and %j: nothing', ([provider, account]) =>
    expect(providerRoleOf(saying(provider, account))).toBeUndefined(),
  )
})
