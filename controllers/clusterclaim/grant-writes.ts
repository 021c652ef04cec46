/** Lets the subjects of a claim into the namespace of its cluster, and out again: CLAIM-6. */
import { isDeepStrictEqual } from 'node:util'
import { isPoolSecret } from '#apis/hive.openshift.io/model/secret-refs.ts'
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { Role, RoleBinding, Secret } from '#apis/kubernetes.ts'
import { type Api, ApiError, isConflict, isNotFound, type KubeObject } from '#operator/index.ts'
import { buildGrants, CLAIM_UID_LABEL, clusterSecrets, GRANT_NAME } from './grants.ts'
import type { ClaimIndexes } from './observe.ts'

const FIELD_MANAGER = 'muster-clusterclaim'

/**
 * Lets the subjects in, or out when there are none any more.
 * @returns what the API server refused; undefined when all is as it should be
 * @throws ApiError when the object was written since or the namespace is gone, NetworkError
 */
export const grantSubjects = async (
  claim: ClusterClaim,
  cluster: ClusterDeployment,
  indexes: ClaimIndexes,
  api: Api,
): Promise<ApiError | undefined> => {
  try {
    await applyGrants(claim, cluster, indexes, api)
    return undefined
  } catch (error) {
    if (!(error instanceof ApiError) || isConflict(error) || isNotFound(error)) throw error
    return error
  }
}

/** Writes what was granted where it is not as it should be; without subjects nothing is. */
const applyGrants = async (
  claim: ClusterClaim,
  cluster: ClusterDeployment,
  indexes: ClaimIndexes,
  api: Api,
): Promise<void> => {
  if ((claim.spec.subjects ?? []).length === 0) return revokeGrants(claim, indexes, api)
  const { role, binding } = buildGrants(claim, cluster, await readGrantable(cluster, api))
  const { namespace } = binding.metadata
  const options = { fieldManager: FIELD_MANAGER, force: true }
  const isThere = ({ metadata }: KubeObject) =>
    metadata.name === GRANT_NAME && metadata.labels?.[CLAIM_UID_LABEL] === claim.metadata.uid
  const writtenRole = indexes.roles.get(namespace).find(isThere)
  if (!isDeepStrictEqual(writtenRole?.rules, role.rules)) await api.apply(Role, role, options)
  const writtenBinding = indexes.bindings.get(namespace).find(isThere)
  const isSame =
    isDeepStrictEqual(writtenBinding?.subjects, binding.subjects) &&
    isDeepStrictEqual(writtenBinding?.roleRef, binding.roleRef)
  if (!isSame) await api.apply(RoleBinding, binding, options)
}

/** Read anew each time, for a name says nothing: what is not there yet is made by adapters, as pools make Secrets before their cluster. */
const readGrantable = async (cluster: ClusterDeployment, api: Api): Promise<readonly string[]> => {
  const grantable: string[] = []
  for (const name of clusterSecrets(cluster)) {
    const found = await api.get(Secret, name, cluster.metadata.namespace)
    if (found === undefined || !isPoolSecret(found)) grantable.push(name)
  }
  return grantable
}

/** Only what was granted for this claim. */
export const revokeGrants = async (
  { spec, metadata }: ClusterClaim,
  indexes: ClaimIndexes,
  api: Api,
): Promise<void> => {
  const namespace = spec.namespace ?? ''
  const isOurs = (object: KubeObject) => object.metadata.labels?.[CLAIM_UID_LABEL] === metadata.uid
  for (const { metadata: at } of indexes.bindings.get(namespace).filter(isOurs))
    await api.delete(RoleBinding, at.name, at.namespace, { uid: at.uid })
  for (const { metadata: at } of indexes.roles.get(namespace).filter(isOurs))
    await api.delete(Role, at.name, at.namespace, { uid: at.uid })
}
