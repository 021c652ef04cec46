import type { ControlPlane } from '#test/harness/index.ts'

/**
 * Objects of Hive's in the shapes that its API serves them in, retold from its Go types (openshift/hive, apis/hive/v1), and
 * definitions of its kinds that take them as Hive's do.
 */
export const HIVE_PLURALS = {
  ClusterDeploymentCustomization: 'clusterdeploymentcustomizations',
  ClusterPool: 'clusterpools',
  ClusterClaim: 'clusterclaims',
  ClusterDeployment: 'clusterdeployments',
} as const

export type HiveKindName = keyof typeof HIVE_PLURALS

/** A CustomResourceDefinition of a kind of Hive's; what it takes is as open as can be. */
const hiveDefinition = (kind: HiveKindName) => {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const plural = HIVE_PLURALS[kind]
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.hive.openshift.io` },
    spec: {
      group: 'hive.openshift.io',
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
        },
      ],
    },
  }
}

export interface HiveSample {
  readonly kind: HiveKindName
  readonly name: string
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

const POOL = {
  platform: { vsphere: { credentialsSecretRef: { name: 'vsphere' }, vCenter: 'vcenter.example.com' } },
  baseDomain: 'example.com',
  imageSetRef: { name: 'openshift-v4.19' },
  size: 2,
}

/** What a Hive with two pools has. */
export const HIVE_SAMPLES: readonly HiveSample[] = [
  {
    kind: 'ClusterDeploymentCustomization',
    name: 'free',
    spec: { installConfigPatches: [{ op: 'replace', path: '/metadata/name', value: 'free' }] },
    status: {
      conditions: [
        {
          type: 'Available',
          status: 'True',
          reason: 'Available',
          message: '',
          lastTransitionTime: '2026-08-01T10:00:00Z',
        },
      ],
    },
  },
  {
    kind: 'ClusterDeploymentCustomization',
    name: 'used',
    spec: {
      installConfigPatches: [{ op: 'add', path: 'metadata/name', value: 'used' }],
      installerManifestPatches: [{ manifestSelector: { glob: '*.yaml' }, patches: [] }],
    },
    status: { clusterDeploymentRef: { name: 'edge-x7k2p' }, clusterPoolRef: { name: 'edge' } },
  },
  { kind: 'ClusterPool', name: 'plain', spec: { ...POOL, runningCount: 1, maxSize: 5, skipMachinePools: true } },
  {
    kind: 'ClusterPool',
    name: 'edge',
    spec: {
      ...POOL,
      runningCount: 2,
      inventory: [
        { kind: 'ClusterDeploymentCustomization', name: 'free' },
        { kind: 'ClusterDeploymentCustomization', name: 'used' },
      ],
      customizationRef: { name: 'common' },
    },
  },
  { kind: 'ClusterPool', name: 'strange', spec: { ...POOL, size: 1, runningCount: 3, fieldOfTomorrow: 'x' } },
  {
    kind: 'ClusterClaim',
    name: 'waiting',
    spec: {
      clusterPoolName: 'edge',
      subjects: [{ kind: 'User', name: 'alice', apiGroup: 'rbac.authorization.k8s.io' }],
      lifetime: '8h',
    },
  },
  { kind: 'ClusterClaim', name: 'assigned', spec: { clusterPoolName: 'edge', namespace: 'edge-x7k2p' } },
  {
    kind: 'ClusterDeployment',
    name: 'edge-x7k2p',
    spec: {
      baseDomain: 'example.com',
      clusterName: 'used',
      platform: POOL.platform,
      installed: true,
      powerState: 'Running',
      clusterPoolRef: { namespace: 'pools', poolName: 'edge', claimName: 'assigned' },
    },
  },
]

export const manifest = ({ kind, name, spec }: HiveSample) => ({
  apiVersion: 'hive.openshift.io/v1',
  kind,
  metadata: { name },
  spec,
})

export const collection = (kind: HiveKindName, namespace: string): string =>
  `/apis/hive.openshift.io/v1/namespaces/${namespace}/${HIVE_PLURALS[kind]}`

/** Makes a cluster without kinds of ours one with Hive's, and with the samples in the namespace `pools`. */
export const putHive = async ({ rest, kubectl }: Pick<ControlPlane, 'rest' | 'kubectl'>): Promise<void> => {
  for (const kind of Object.keys(HIVE_PLURALS) as HiveKindName[]) {
    await rest('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', hiveDefinition(kind))
    await kubectl('wait', '--for=condition=Established', `crd/${HIVE_PLURALS[kind]}.hive.openshift.io`)
  }
  await rest('POST', '/api/v1/namespaces', { metadata: { name: 'pools' } })
  for (const sample of HIVE_SAMPLES) {
    await rest('POST', collection(sample.kind, 'pools'), manifest(sample))
    if (sample.status)
      await rest('PATCH', `${collection(sample.kind, 'pools')}/${sample.name}/status`, { status: sample.status })
  }
}
