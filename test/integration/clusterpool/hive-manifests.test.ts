/** Pools and claims as Hive's documentation writes them (docs/clusterpools.md of openshift/hive), told anew: applied by kubectl as they are. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findCondition } from '#operator/model/conditions.ts'
import { applyStrictly } from '#test/worlds/hive-manifests.ts'
import { eventually, type PoolWorld, poolWorld } from './world.ts'

let the: PoolWorld

beforeAll(async () => {
  the = await poolWorld()
  await the.start()
})

afterAll(async () => {
  await the?.[Symbol.asyncDispose]()
})

const apply = (manifests: string): Promise<void> => applyStrictly(the, manifests)

/** Every cluster of it is made with this install-config, but for its name and domain. */
const POOL = `
apiVersion: v1
kind: Secret
metadata: {name: cloud-keys, namespace: NAMESPACE, labels: {muster.dev/copied-by-pools: 'true'}}
stringData: {aws_access_key_id: id, aws_secret_access_key: key}
---
apiVersion: v1
kind: Secret
metadata: {name: registry, namespace: NAMESPACE, labels: {muster.dev/copied-by-pools: 'true'}}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths": {}}'}
---
apiVersion: v1
kind: Secret
metadata: {name: three-workers, namespace: NAMESPACE, labels: {muster.dev/copied-by-pools: 'true'}}
stringData:
  install-config.yaml: |
    apiVersion: v1
    baseDomain: somewhere.example.org
    metadata: {name: somebody}
    compute: [{name: worker, replicas: 3}]
    platform: {aws: {region: eu-north-1}}
---
apiVersion: hive.openshift.io/v1
kind: ClusterPool
metadata:
  name: north
  namespace: NAMESPACE
spec:
  baseDomain: pools.example.org
  imageSetRef: {name: openshift-v4.20}
  installConfigSecretTemplateRef: {name: three-workers}
  skipMachinePools: true
  platform:
    aws:
      credentialsSecretRef: {name: cloud-keys}
      region: eu-north-1
  pullSecretRef: {name: registry}
  size: 1
`

/** A claim, and whom Hive's administrators of pools are. */
const CLAIM = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pool-admins, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: hive-cluster-pool-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: pool-people}]
---
apiVersion: hive.openshift.io/v1
kind: ClusterClaim
metadata: {name: for-the-afternoon, namespace: NAMESPACE}
spec:
  clusterPoolName: north
  lifetime: 8h
`

/** Whom a CronJob runs as that changes the size of the pool, with nothing but its subresource scale. */
const SCALING = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: scaler, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: scaler, namespace: NAMESPACE}
rules:
  - {apiGroups: [hive.openshift.io], resources: [clusterpools], verbs: [get]}
  - {apiGroups: [hive.openshift.io], resources: [clusterpools/scale], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: scaler, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: scaler}
subjects: [{kind: ServiceAccount, name: scaler, namespace: NAMESPACE}]
`

const unclaimed = async () =>
  (await the.clusters('north')).filter(({ spec }) => spec.clusterPoolRef?.claimName === undefined)

test('POOL-83: Hive’s pool is filled: each cluster has a namespace of its name, the Secrets of the pool and the install-config of its template', async () => {
  await apply(POOL)
  const [cluster] = await eventually(async () => {
    const found = await unclaimed()
    expect(found.map(({ spec }) => spec.installed)).toEqual([true])
    return found
  })
  const { name = '', namespace } = cluster?.metadata ?? {}
  expect(namespace).toBe(name)
  expect(name).toMatch(/^north-/)
  expect(cluster?.spec).toMatchObject({
    baseDomain: 'pools.example.org',
    powerState: 'Hibernating',
    provisioning: { imageSetRef: { name: 'openshift-v4.20' } },
    pullSecretRef: { name: 'registry' },
    platform: { aws: { credentialsSecretRef: { name: 'cloud-keys' }, region: 'eu-north-1' } },
  })
  const secret = (which: string) =>
    the.plane.rest<{ data: Record<string, string> }>('GET', `/api/v1/namespaces/${name}/secrets/${which}`)
  await secret('cloud-keys')
  await secret('registry')
  const { data } = await secret(cluster?.spec.provisioning?.installConfigSecretRef?.name ?? '')
  const text = Buffer.from(data['install-config.yaml'] ?? '', 'base64').toString()
  expect(text).toContain('replicas: 3')
  expect(text).toContain('baseDomain: pools.example.org')
  expect(text).not.toContain('somebody')
})

test('POOL-83: Hive’s claim gets the cluster, which wakes up, and another one takes its place; the admins of pools come along', async () => {
  const [waiting] = await unclaimed()
  await apply(CLAIM)
  const claim = await eventually(async () => {
    const found = await the.get.claim('for-the-afternoon')
    expect(findCondition(found.status?.conditions, 'Pending')).toMatchObject({
      status: 'False',
      reason: 'ClusterClaimed',
    })
    expect(findCondition(found.status?.conditions, 'ClusterRunning')?.status).toBe('True')
    return found
  })
  expect(claim.spec.namespace).toBe(waiting?.metadata.namespace)
  const may = ['auth', 'can-i', 'get', 'clusterdeployments', `--namespace=${claim.spec.namespace}`]
  await eventually(() => the.plane.kubectl(...may, '--as=somebody', '--as-group=pool-people'))
  await eventually(async () => expect(await unclaimed()).toHaveLength(1))
})

test('POOL-83: a schedule scales Hive’s pool with the subresource alone, and a claim that is deleted takes its cluster along', async () => {
  await apply(SCALING)
  const scale = (replicas: number) =>
    the.plane.kubectl(
      'scale',
      'clusterpool',
      'north',
      `--replicas=${replicas}`,
      `--namespace=${the.namespace}`,
      `--as=system:serviceaccount:${the.namespace}:scaler`,
    )
  await eventually(() => scale(2))
  await eventually(async () => expect(await unclaimed()).toHaveLength(2))
  await scale(0)
  await eventually(async () => expect(await unclaimed()).toHaveLength(0))
  expect(await the.clusters('north')).toHaveLength(1)
  await the.plane.kubectl('delete', 'clusterclaim', 'for-the-afternoon', `--namespace=${the.namespace}`)
  await eventually(async () => expect(await the.clusters('north')).toHaveLength(0))
})
