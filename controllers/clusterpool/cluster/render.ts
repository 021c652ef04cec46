/** The next cluster of a pool, as the documents it is made from: POOL-4, POOL-11, POOL-63. */
import { isDeepStrictEqual } from 'node:util'
import {
  type Customization,
  CustomizationError,
  customizeInstallConfig,
  customizeSpec,
} from '#apis/hive.openshift.io/model/customization.ts'
import type { InstallConfig } from '#apis/hive.openshift.io/model/install-config.ts'
import { installerSecretNames, secretNamesIn } from '#apis/hive.openshift.io/model/secret-refs.ts'
import type { ClusterDeploymentSpec } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { NamespacedName } from '../model/names.ts'
import { defaultInstallConfig, fromTemplate } from './install-config.ts'

export interface ClusterDocuments {
  readonly installConfig: InstallConfig
  readonly spec: ClusterDeploymentSpec
  /** For the authors of the customizations. */
  readonly notices: readonly string[]
}

export interface RenderInput {
  readonly pool: NamespacedName
  readonly poolSpec: ClusterPoolSpec
  readonly template: InstallConfig | undefined
  /** Its name, which is its namespace's too. */
  readonly name: string
  /** The one for all clusters of the pool, which comes first. */
  readonly shared: Customization | undefined
  /** The one that this cluster leases. */
  readonly leased: Customization | undefined
}

/** The Secret that holds the install-config of a cluster, in the cluster's namespace. */
export const installConfigSecretName = (cluster: string): string => `${cluster}-install-config`

/**
 * Renders a cluster: the pool's install-config and spec with the customizations applied. Its power state is the caller's to set.
 * @throws CustomizationError naming the operation that can't be applied
 */
export const renderCluster = (recipe: RenderInput): ClusterDocuments => {
  const { poolSpec, template, name, shared, leased } = recipe
  const author = leased?.name ?? shared?.name
  const customizations = [shared, leased].filter((customization) => customization !== undefined)
  const plain = template === undefined ? defaultInstallConfig(poolSpec, name) : fromTemplate(template, poolSpec, name)
  const config = customizeInstallConfig(plain, customizations)
  const before = buildSpec(recipe, config.document)
  const spec = customizeSpec(before, customizations)
  for (const field of POOL_OWNED_FIELDS)
    if (!isDeepStrictEqual(spec.document[field], before[field]))
      throw new CustomizationError(
        `${author}: clusterDeploymentSpecPatches: ${field} is the pool's to write: leave it as it is`,
      )
  const own = ownSecretOf(recipe, spec.document)
  if (own !== undefined)
    throw new CustomizationError(
      `${author}: clusterDeploymentSpecPatches: clusterMetadata names Secret ${own}, which the pool puts beside the cluster: name one that is made for the users of the cluster`,
    )
  return {
    installConfig: config.document,
    spec: spec.document,
    notices: [...config.notices, ...spec.notices],
  }
}

/** By these fields a pool knows its clusters; a patch must not move a cluster to another pool or claim. */
const POOL_OWNED_FIELDS = ['clusterPoolRef', 'installed', 'powerState'] as const

/** The users of a cluster may read what its `clusterMetadata` names; what the pool puts beside it is for those who install. */
const ownSecretOf = ({ poolSpec, name }: RenderInput, spec: ClusterDeploymentSpec): string | undefined => {
  const own = new Set([installConfigSecretName(name), ...secretNamesIn(poolSpec), ...installerSecretNames(spec)])
  return secretNamesIn(spec.clusterMetadata).find((named) => own.has(named))
}

const buildSpec = ({ pool, poolSpec, name, leased }: RenderInput, config: InstallConfig): ClusterDeploymentSpec => {
  const { platform, imageSetRef, installerEnv, pullSecretRef, hibernateAfter, installAttemptsLimit } = poolSpec
  const { metadata, baseDomain } = config as { metadata?: { name?: unknown }; baseDomain?: unknown }
  return {
    // What the customization made of the names is what DNS is prepared for.
    clusterName: typeof metadata?.name === 'string' ? metadata.name : name,
    baseDomain: typeof baseDomain === 'string' ? baseDomain : poolSpec.baseDomain,
    platform,
    clusterPoolRef: {
      namespace: pool.namespace,
      poolName: pool.name,
      ...(leased !== undefined && { clusterDeploymentCustomization: { name: leased.name } }),
    },
    provisioning: {
      imageSetRef,
      installConfigSecretRef: { name: installConfigSecretName(name) },
      ...(installerEnv !== undefined && { installerEnv }),
    },
    ...(pullSecretRef !== undefined && { pullSecretRef }),
    installed: false,
    powerState: 'Running',
    ...(hibernateAfter !== undefined && { hibernateAfter }),
    ...(installAttemptsLimit !== undefined && { installAttemptsLimit }),
  }
}
