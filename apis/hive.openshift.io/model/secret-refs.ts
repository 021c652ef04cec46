/** Which Secrets a cluster is made with: those are for its installation, not for its users (CLAIM-9). */
import type { Secret } from '../../kubernetes.ts'
import type { ClusterDeploymentSpec } from '../v1/clusterdeployment.ts'
import { POOL_LABELS } from '../v1/labels.ts'

/** The names of the Secrets that a spec refers to, wherever in it: `pullSecretRef: {name}`, `platform.aws.credentialsSecretRef` and the like. */
export const secretNamesIn = (about: unknown): readonly string[] => {
  if (typeof about !== 'object' || about === null) return []
  const names = Object.entries(about).flatMap(([key, value]: [string, unknown]) => {
    const { name } = (value ?? {}) as { readonly name?: unknown }
    return key.endsWith('SecretRef') && typeof name === 'string' ? [name] : secretNamesIn(value)
  })
  return [...new Set(names)]
}

/** What a cluster is made with, such as its pull secret: all that its spec names but for its users. */
export const installerSecretNames = (spec: ClusterDeploymentSpec): readonly string[] => {
  const { clusterMetadata: _, ...rest } = spec
  return secretNamesIn(rest)
}

/** Its pool put it beside the cluster, from its own namespace, for the installation. */
export const isPoolSecret = ({ metadata }: Secret): boolean => metadata.labels?.[POOL_LABELS.uid] !== undefined
