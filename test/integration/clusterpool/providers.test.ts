/** The rights of providers beside their clusters, as pools give them: POOL-84. What the delivered providers have: test/integration/security. */
import { expect, test } from 'vitest'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { PROVIDER_ACCOUNT_ANNOTATION, PROVIDER_ROLE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { ClusterRole, Namespace, RoleBinding } from '#apis/kubernetes.ts'
import { eventually, type PoolWorld, poolWorld } from './world.ts'

const ACCOUNT = { kind: 'ServiceAccount', namespace: 'tasks', name: 'provider' } as const
const RBAC = 'rbac.authorization.k8s.io'

/** Rights of a provider, as its overlay has them. @returns the name of the role, and of its bindings */
const declareProvider = async (the: PoolWorld, provider: string): Promise<string> => {
  const name = `provider-${provider}`
  const account = { [PROVIDER_ACCOUNT_ANNOTATION]: `${ACCOUNT.namespace}/${ACCOUNT.name}` }
  // Deleting them is no right of pools, so that they need one to hand it out.
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'delete'] }]
  await the.api.create(ClusterRole, {
    metadata: { name, labels: { [PROVIDER_ROLE_LABEL]: provider }, annotations: account },
    rules,
  })
  return name
}

/** Pools may bind it. */
const letPoolsBind = async (the: PoolWorld, role: string): Promise<void> => {
  const name = `${role}-bind`
  const rules = [{ apiGroups: [RBAC], resources: ['clusterroles'], resourceNames: [role], verbs: ['bind'] }]
  await the.api.create(ClusterRole, { metadata: { name }, rules })
  await the.plane.rest('POST', `/apis/${RBAC}/v1/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: 'hyperfleet-clusterpool', namespace: the.namespace }],
  })
}

/** A provider of this test alone: its roles are the whole cluster's. */
const providerOf = ({ namespace }: PoolWorld, name: string): string => `${name}-${namespace}`

const bindingIn = (the: PoolWorld, role: string, namespace: string | undefined) =>
  the.api.get(RoleBinding, role, namespace)

const untilBound = (the: PoolWorld, role: string, namespace: string | undefined) =>
  eventually(async () => {
    const binding = await bindingIn(the, role, namespace)
    expect(binding).toMatchObject({ roleRef: { kind: 'ClusterRole', name: role }, subjects: [ACCOUNT] })
    expect(binding?.subjects).toHaveLength(1)
    expect(binding?.metadata.deletionTimestamp).toBeUndefined()
    return binding
  })

const namespaceOfCluster = (the: PoolWorld, pool: string) =>
  eventually(async () => {
    const [cluster] = await the.clusters(pool)
    expect(cluster).toBeDefined()
    return cluster?.metadata.namespace ?? ''
  })

/** A pool of a provider that pools let in, with a cluster beside which its account is. */
const boundPool = async (the: PoolWorld, name: string) => {
  const provider = providerOf(the, name)
  const role = await declareProvider(the, provider)
  await letPoolsBind(the, role)
  await the.start()
  await the.pool('pool', { labels: { provider } })
  const place = await namespaceOfCluster(the, 'pool')
  return { role, place, binding: await untilBound(the, role, place) }
}

test('POOL-84: the account of a provider is let in before its cluster is there, and nowhere else', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  const [provider, other] = [providerOf(the, 'one'), providerOf(the, 'other')]
  const [role, otherRole] = [await declareProvider(the, provider), await declareProvider(the, other)]
  await letPoolsBind(the, role)
  await the.start({ server: proxy.server })
  await the.pool('without')
  await the.pool('with', { labels: { provider } })
  const [place, elsewhere] = [await namespaceOfCluster(the, 'with'), await namespaceOfCluster(the, 'without')]
  await untilBound(the, role, place)
  const writes = proxy
    .requests()
    .filter(({ method, path }) => method !== 'GET' && path.includes(`/namespaces/${place}/`))
    .map(({ path }) => path)
  const at = (text: string) => writes.findIndex((path) => path.includes(text))
  expect(at(`/rolebindings/${role}`)).toBeGreaterThanOrEqual(0)
  expect(at(`/rolebindings/${role}`)).toBeLessThan(at('/clusterdeployments'))
  for (const [name, namespace] of [
    [otherRole, place],
    [role, elsewhere],
    [role, the.namespace],
  ] as const)
    expect(await bindingIn(the, name, namespace)).toBeUndefined()
})

test('POOL-84: a cluster that was there before its provider’s rights has them once they are there', async () => {
  await using the = await poolWorld()
  const provider = providerOf(the, 'late')
  const { lines } = await the.start()
  await the.pool('pool', { labels: { provider } })
  const place = await namespaceOfCluster(the, 'pool')
  const role = await declareProvider(the, provider)
  await eventually(() => expect(lines.join('\n')).toMatch(/BindProvider: .* is attempting to grant RBAC permissions/))
  expect(await bindingIn(the, role, place)).toBeUndefined()
  await letPoolsBind(the, role)
  await untilBound(the, role, place)
})

test('POOL-84: what others write or take away is put right, also while the cluster and its pool are being deleted', async () => {
  await using the = await poolWorld()
  const { role, place } = await boundPool(the, 'repaired')

  const mallory = { apiGroup: RBAC, kind: 'User', name: 'mallory' }
  const body = { subjects: [ACCOUNT, mallory] }
  await the.api.patch(RoleBinding, { name: role, namespace: place, type: 'merge', body })
  await untilBound(the, role, place)
  await the.api.delete(RoleBinding, role, place)
  await untilBound(the, role, place)

  the.installer.slow.add('*')
  await the.api.delete(ClusterPool, 'pool', the.namespace)
  await eventually(async () => expect((await the.clusters('pool'))[0]?.metadata.deletionTimestamp).toBeDefined())
  await the.api.delete(RoleBinding, role, place)
  await untilBound(the, role, place)
  the.installer.slow.clear()
  the.installer.wake()
  await eventually(async () => expect(await the.api.get(ClusterPool, 'pool', the.namespace)).toBeUndefined())
})

test('POOL-84: a binding of its name that refers to something else is replaced', async () => {
  await using the = await poolWorld()
  const provider = providerOf(the, 'taken')
  await the.start()
  await the.pool('pool', { labels: { provider } })
  const place = await namespaceOfCluster(the, 'pool')
  const name = `provider-${provider}`
  await the.api.create(RoleBinding, {
    metadata: { name, namespace: place },
    roleRef: { apiGroup: RBAC, kind: 'Role', name },
    subjects: [{ ...ACCOUNT, name: 'another' }],
  })
  await letPoolsBind(the, await declareProvider(the, provider))
  await untilBound(the, name, place)
})

test('POOL-84: a manager that dies with the answer to its write goes on, and makes the cluster with the rights', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  const provider = providerOf(the, 'cut')
  const role = await declareProvider(the, provider)
  await letPoolsBind(the, role)
  const seen = Promise.withResolvers<void>()
  proxy.decide(({ method, path }) => {
    if (method !== 'PATCH' || !path.includes(`/rolebindings/${role}`)) return 'pass'
    seen.resolve()
    return 'lose'
  })
  const manager = await the.start({ server: proxy.server })
  await the.pool('pool', { labels: { provider } })
  await seen.promise
  await manager.stop()
  expect(await Array.fromAsync(the.api.list(ClusterDeployment, { labelSelector: `provider=${provider}` }))).toEqual([])
  await the.start()
  await untilBound(the, role, await namespaceOfCluster(the, 'pool'))
})

test('POOL-84: a cluster’s author changes its provider: the new one is let in, and the former one keeps its rights', async () => {
  await using the = await poolWorld()
  const provider = providerOf(the, 'new')
  const role = await declareProvider(the, provider)
  await letPoolsBind(the, role)
  const { role: former, place, binding: before } = await boundPool(the, 'former')
  expect(await bindingIn(the, role, place)).toBeUndefined()
  const [cluster] = await the.clusters('pool')
  const name = cluster?.metadata.name ?? ''
  const body = { metadata: { labels: { provider } } }
  await the.api.patch(ClusterDeployment, { name, namespace: place, type: 'merge', body })
  await untilBound(the, role, place)
  expect((await bindingIn(the, former, place))?.metadata.uid).toBe(before?.metadata.uid)
})

test('POOL-84: the folder of a provider is taken away and comes back: its clusters can go meanwhile, and those that are there have its rights again', async () => {
  await using the = await poolWorld()
  const provider = providerOf(the, 'away')
  const role = await declareProvider(the, provider)
  await letPoolsBind(the, role)
  await the.start()
  for (const pool of ['going', 'staying']) await the.pool(pool, { labels: { provider } })
  const [going, staying] = [await namespaceOfCluster(the, 'going'), await namespaceOfCluster(the, 'staying')]
  await untilBound(the, role, going)
  const before = await untilBound(the, role, staying)

  await the.api.delete(ClusterRole, role)
  await the.api.delete(ClusterPool, 'going', the.namespace)
  await eventually(async () => expect(await the.api.get(ClusterPool, 'going', the.namespace)).toBeUndefined())
  expect((await bindingIn(the, role, staying))?.metadata.uid).toBe(before?.metadata.uid)

  await declareProvider(the, provider)
  await the.api.delete(RoleBinding, role, staying)
  await untilBound(the, role, staying)
})

test('POOL-84: the namespace of a cluster is being deleted: nothing is bound there any more, and all of it ends', async () => {
  await using the = await poolWorld()
  const { role, place } = await boundPool(the, 'ending')
  the.installer.slow.add('*')
  await the.api.delete(Namespace, place)
  await eventually(async () => expect(await bindingIn(the, role, place)).toBeUndefined())
  await the.api.delete(ClusterPool, 'pool', the.namespace)
  the.installer.slow.clear()
  the.installer.wake()
  await eventually(async () => expect(await the.api.get(ClusterPool, 'pool', the.namespace)).toBeUndefined())
  await eventually(async () => expect(await the.api.get(Namespace, place)).toBeUndefined())
})
