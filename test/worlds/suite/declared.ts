/** What the commits of the day declare: one folder a pool, with its inventory, its claims and what runs on its clusters. Pure. */
import { dump } from 'js-yaml'

export interface DeclaredPool {
  readonly name: string
  readonly size: number
  readonly customizations: readonly string[]
  readonly claims: readonly string[]
  /** Deployments of the fleet for its clusters: what each writes, by its name. */
  readonly rollouts: Readonly<Record<string, string>>
  /** From how many inferred deletions on its brake holds; the product's own limits when undefined. */
  readonly deletionBrake?: { readonly percent: number; readonly least: number }
}

/** In "the clusters": all of them are one API server here, and this is where their workloads go. */
export const REMOTE = 'remote'

/** The Secret that the adapter cluster-access writes beside each ClusterDeployment. */
export const ADMIN_SECRET = 'admin'

/** The region that the samples' Sentinel of the day watches. */
export const REGION = 'us-west'

/** Every manifest of the folder. */
export const manifestsOf = (declared: DeclaredPool): readonly object[] => {
  const { name, customizations, claims, rollouts } = declared
  return [
    ...customizations.map(customization),
    pool(declared),
    ...claims.map((claim) => ({
      apiVersion: 'hive.openshift.io/v1',
      kind: 'ClusterClaim',
      metadata: { name: claim },
      spec: { clusterPoolName: name },
    })),
    ...Object.entries(rollouts).map(([rollout, text]) => deployment(rollout, name, text)),
  ]
}

const customization = (name: string) => ({
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterDeploymentCustomization',
  metadata: { name },
  spec: {
    installConfigPatches: [{ op: 'replace', path: '/metadata/name', value: name }],
    clusterDeploymentSpecPatches: [
      { op: 'add', path: '/clusterMetadata', value: { adminKubeconfigSecretRef: { name: ADMIN_SECRET } } },
    ],
  },
})

const pool = ({ name, size, customizations, deletionBrake }: DeclaredPool) => ({
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterPool',
  metadata: { name },
  spec: {
    size,
    runningCount: size,
    baseDomain: 'example.com',
    platform: { baremetal: {} },
    imageSetRef: { name: 'openshift-v4.20' },
    // The policy: every cluster of this pool is a device of the fleet.
    labels: { region: REGION, 'fleet.nationtech.io/device': 'true', 'device.fleet.nationtech.io/pool': name },
    inventory: { ClusterDeploymentCustomizations: customizations.map((entry) => ({ name: entry })) },
    ...(deletionBrake !== undefined && { deletionBrake }),
  },
})

const deployment = (name: string, poolName: string, text: string) => ({
  apiVersion: 'fleet.nationtech.io/v1alpha1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    targetSelector: { matchLabels: { 'device.fleet.nationtech.io/pool': poolName } },
    score: {
      type: 'KubernetesManifests',
      data: {
        manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: REMOTE }, data: { text } }],
      },
    },
  },
})

const FILE = 'declared.yaml'

/** The folder of a pool as a commit writes it, or removes it when there is none. @param path of a file in the folder */
export const filesOf = (
  path: (file: string) => string,
  declared: DeclaredPool | undefined,
): Readonly<Record<string, string | undefined>> => ({
  [path('kustomization.yaml')]:
    declared === undefined ? undefined : dump({ namespace: 'hyperfleet-system', resources: [FILE] }),
  [path(FILE)]:
    declared === undefined
      ? undefined
      : manifestsOf(declared)
          .map((manifest) => dump(manifest, { noRefs: true }))
          .join('---\n'),
})
