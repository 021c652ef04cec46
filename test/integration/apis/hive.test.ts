import { beforeAll, describe, expect, test } from 'vitest'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { apiVersionOf, type KubeObject, pathOf, type Resource } from '#operator/model/resource.ts'
import { type ControlPlane, sharedControlPlane } from '#test/harness/index.ts'
import { refusalOf } from './refusal.ts'

let cluster: ControlPlane
let namespace: string

beforeAll(async () => {
  cluster = await sharedControlPlane()
  namespace = await cluster.namespace('hive')
})

let made = 0

const create = (resource: Resource, spec: object): Promise<KubeObject<object, object>> => {
  made += 1
  return cluster.rest('POST', `${pathOf(resource, { namespace })}?fieldValidation=Strict`, {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name: `sample-${made}` },
    spec,
  })
}

const change = (resource: Resource, { metadata }: KubeObject<object, object>, spec: object) =>
  cluster.rest('PATCH', pathOf(resource, { namespace, name: metadata.name }), { spec })

const POOL = {
  platform: { vsphere: { vCenter: 'vcenter.example.com', datacenter: 'dc1' } },
  baseDomain: 'example.com',
  imageSetRef: { name: 'openshift-v4.20' },
  size: 3,
}
const inventory = (...names: readonly string[]) => ({
  ClusterDeploymentCustomizations: names.map((name) => ({ name })),
})

describe('ClusterPool', () => {
  test('a pool as the original CRD has it is accepted, with defaults', async () => {
    const spec = { ...POOL, inventory: inventory('foo', 'bar', 'baz') }
    expect((await create(ClusterPool, spec)).spec).toEqual({
      ...spec,
      inventory: { ...spec.inventory, attempts: 3 },
      runningCount: 0,
      staleReplacement: { maxConcurrent: 1 },
    })
  })

  test('every field of a pool made for Hive is accepted', async () => {
    const spec = {
      ...POOL,
      runningCount: 1,
      maxSize: 10,
      maxConcurrent: 2,
      pullSecretRef: { name: 'pull' },
      labels: { team: 'a' },
      annotations: { note: 'b' },
      installConfigSecretTemplateRef: { name: 'template' },
      hibernateAfter: '8h',
      installAttemptsLimit: 2,
      skipMachinePools: true,
      claimLifetime: { default: '24h', maximum: '720h' },
      hibernationConfig: { resumeTimeout: '20m' },
      installerEnv: [{ name: 'OPENSHIFT_INSTALL_X', value: '1' }],
      customizationRef: { name: 'all' },
    }
    expect((await create(ClusterPool, spec)).spec).toMatchObject(spec)
  })

  test('kubectl scale changes its size', async () => {
    const pool = await create(ClusterPool, POOL)
    const path = `${pathOf(ClusterPool, { namespace, name: pool.metadata.name })}/scale`
    await cluster.rest('PATCH', path, { spec: { replicas: 5 } })
    const scaled = await cluster.rest<{ spec: { replicas: number } }>('GET', path)
    expect(scaled.spec.replicas).toBe(5)
  })

  test.each<[string, object, string]>([
    [
      'no cloud',
      { ...POOL, platform: {} },
      'spec.platform: Invalid value: 0: spec.platform in body should have at least 1 properties',
    ],
    ['two clouds', { ...POOL, platform: { aws: {}, gcp: {} } }, 'spec.platform: Too many: 2: must have at most 1 item'],
    [
      'an empty inventory',
      { ...POOL, inventory: { ClusterDeploymentCustomizations: [] } },
      'spec.inventory.ClusterDeploymentCustomizations: Invalid value: 0: spec.inventory.ClusterDeploymentCustomizations in body should have at least 1 items',
    ],
    [
      'a customization twice',
      { ...POOL, inventory: inventory('a', 'b', 'a') },
      'spec.inventory.ClusterDeploymentCustomizations[2]: Duplicate value: {"name":"a"}',
    ],
    [
      'more than it may have',
      { ...POOL, maxSize: 2 },
      'spec: Invalid value: size must be at most maxSize: raise maxSize or lower size',
    ],
    [
      'more running than there are',
      { ...POOL, runningCount: 4 },
      'spec: Invalid value: runningCount must be at most size: there are no more clusters to run',
    ],
    [
      'a lifetime that is none',
      { ...POOL, claimLifetime: { default: 'a day' } },
      'spec.claimLifetime.default: Invalid value: "a day": must be a duration of at most 87600h, written as 90s, 30m, 8h or 1h30m',
    ],
  ])('%s is refused, with what to write', async (_what, spec, said) => {
    expect(await refusalOf(create(ClusterPool, spec))).toBe(said)
  })

  test('a field that is none is refused by name', async () => {
    expect(await refusalOf(create(ClusterPool, { ...POOL, sise: 3 }))).toContain('unknown field "spec.sise"')
  })
})

describe('ClusterDeploymentCustomization', () => {
  test('patches as the original CRD has them are accepted, with values of any kind', async () => {
    const spec = {
      installConfigPatches: [
        { op: 'replace', path: 'metadata/name', value: 'foo' },
        { op: 'add', path: '/platform/vsphere/apiVIPs', value: ['10.0.0.10', { a: null }, 1.5, true] },
        { op: 'move', from: '/a~1b', path: '/c' },
        { op: 'test', path: '/n', valueJSON: '{"a": 1}' },
      ],
      clusterDeploymentSpecPatches: [{ op: 'remove', path: '/hibernateAfter' }],
    }
    expect((await create(ClusterDeploymentCustomization, spec)).spec).toEqual(spec)
  })

  test.each<[string, object, string]>([
    [
      'an operation that is none',
      { op: 'set', path: '/a', value: 1 },
      'spec.installConfigPatches[0].op: Unsupported value: "set": supported values: "add", "remove", "replace", "move", "copy", "test"',
    ],
    [
      'a path that is no pointer',
      { op: 'remove', path: '/a~2' },
      'spec.installConfigPatches[0].path: Invalid value: "/a~2": must be a JSON Pointer such as /metadata/name, with ~0 for ~ and ~1 for / inside a name',
    ],
    [
      'a move from nowhere',
      { op: 'move', path: '/a' },
      'spec.installConfigPatches[0]: Invalid value: from must be given for move and copy, and only for them',
    ],
  ])('%s is refused, with what to write', async (_what, patch, said) => {
    expect(await refusalOf(create(ClusterDeploymentCustomization, { installConfigPatches: [patch] }))).toBe(said)
  })
})

describe('ClusterClaim', () => {
  test('its pool stays, and its cluster too', async () => {
    const claim = await create(ClusterClaim, { clusterPoolName: 'pool', lifetime: '4h' })
    expect(await refusalOf(change(ClusterClaim, claim, { clusterPoolName: 'other' }))).toContain(
      'clusterPoolName can’t be changed: make another claim',
    )
    await change(ClusterClaim, claim, { namespace: 'pool-abcde' })
    expect(await refusalOf(change(ClusterClaim, claim, { namespace: 'pool-other' }))).toContain(
      'namespace can’t be changed once a cluster is claimed',
    )
  })

  test('a ServiceAccount needs its namespace', async () => {
    const subjects = [{ kind: 'ServiceAccount', name: 'ci' }]
    expect(await refusalOf(create(ClusterClaim, { clusterPoolName: 'pool', subjects }))).toBe(
      'spec.subjects[0]: Invalid value: namespace must be given for a ServiceAccount, and only for one',
    )
  })
})

describe('ClusterDeployment', () => {
  const CLUSTER = { baseDomain: 'example.com', clusterName: 'foo', platform: { none: {} } }
  const POOLED = {
    ...CLUSTER,
    clusterPoolRef: {
      namespace: 'pools',
      poolName: 'pool',
      clusterDeploymentCustomization: { name: 'foo' },
    },
  }

  test('it runs unless it says otherwise, and fields of Hive’s that nothing acts on are kept', async () => {
    const spec = { ...CLUSTER, manageDNS: true, clusterMetadata: { infraID: 'foo-x1' } }
    expect((await create(ClusterDeployment, spec)).spec).toEqual({ ...spec, installed: false, powerState: 'Running' })
  })

  test('it is claimed once, and stays with its claim, its pool and its customization', async () => {
    const made = await create(ClusterDeployment, POOLED)
    await change(ClusterDeployment, made, { clusterPoolRef: { claimName: 'mine' } })
    const changed = async (clusterPoolRef: object | null) =>
      refusalOf(change(ClusterDeployment, made, { clusterPoolRef }))
    expect(await changed({ claimName: 'yours' })).toContain('a claimed cluster stays with its claim')
    expect(await changed({ claimName: null })).toContain('a claimed cluster never goes back to its pool')
    expect(await changed({ poolName: 'other' })).toContain('clusterPoolRef.poolName can’t be changed')
    expect(await changed({ clusterDeploymentCustomization: { name: 'bar' } })).toContain('leased for the life')
    expect(await changed({ clusterDeploymentCustomization: null })).toContain('leased for the life')
    expect(await changed(null)).toContain('a cluster stays where it was made')
  })

  test('a pool can’t be added later', async () => {
    const made = await create(ClusterDeployment, CLUSTER)
    expect(await refusalOf(change(ClusterDeployment, made, { clusterPoolRef: POOLED.clusterPoolRef }))).toContain(
      'a cluster stays where it was made',
    )
  })
})

/** As `kubectl get -o yaml` on Hive, and the proposal of inventories, have them: with their status, which the API server leaves out. */
test.each([
  [
    ClusterDeploymentCustomization,
    { installConfigPatches: [{ op: 'replace', path: 'metadata/name', value: 'foo' }] },
    { clusterDeploymentRef: { name: 'foo', namespace: 'foo-namespace' } },
  ],
  [ClusterClaim, { clusterPoolName: 'pool', subjects: [] }, { lifetime: '8h0m0s' }],
  [
    ClusterDeployment,
    {
      baseDomain: 'example.com',
      clusterName: 'foo',
      platform: { aws: { region: 'us-east-1', credentialsSecretRef: { name: 'aws' } } },
      clusterMetadata: { clusterID: 'c', infraID: 'i', adminKubeconfigSecretRef: { name: 'k' } },
      controlPlaneConfig: { servingCertificates: {} },
      installAttemptsLimit: 1,
      provisioning: { manifestsConfigMapRef: { name: 'm' }, releaseImage: 'quay.io/x', sshKnownHosts: ['k'] },
    },
    {
      apiURL: 'https://api',
      cliImage: 'x',
      installRestarts: 0,
      installStartedTimestamp: '2020-11-05T14:49:26Z',
      powerState: 'Running',
    },
  ],
  [ClusterPool, { ...POOL, skipMachinePools: true, runningCount: 1 }, { size: 1, standby: 0, ready: 1 }],
] as const)('POOL-54: what was exported applies strictly: $0.kind', async (resource, spec, status) => {
  const probed = {
    type: 'Available',
    status: 'False',
    reason: 'ClusterDeploymentCustomizationInUse',
    message: 'Currently in use by cluster deployment foo of clusterpool foo-pool',
    lastProbeTime: '2020-11-05T14:49:26Z',
    lastTransitionTime: '2020-11-05T14:49:26Z',
  }
  const path = `${pathOf(resource, { namespace })}?fieldValidation=Strict&dryRun=All`
  const metadata = { name: 'exported' }
  const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, spec }
  await cluster.rest('POST', path, { ...object, status: { ...status, conditions: [probed] } })
})

test('POOL-54: an inventory that is a list, as Hive’s pools have it, is refused, and the message says where', async () => {
  const inventory = [{ kind: 'ClusterDeploymentCustomization', name: 'foo' }]
  const path = `${pathOf(ClusterPool, { namespace })}?dryRun=All`
  const object = { apiVersion: apiVersionOf(ClusterPool), kind: ClusterPool.kind, metadata: { name: 'listed' } }
  const listed = { ...object, spec: { ...POOL, inventory } }
  await expect(cluster.rest('POST', path, listed)).rejects.toThrow(/spec\.inventory in body must be of type object/)
  const strict = `${path}&fieldValidation=Strict`
  await expect(cluster.rest('POST', strict, listed)).rejects.toThrow(/unknown field \\"spec\.inventory\[0\]\.kind\\"/)
  const changed = { ClusterDeploymentCustomizations: [{ name: 'foo' }] }
  await cluster.rest('POST', path, { ...object, spec: { ...POOL, inventory: changed } })
})
