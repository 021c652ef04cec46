/** What the subjects of a claim may do in the namespace of its cluster: CLAIM-6, CLAIM-9. */
import { installerSecretNames } from '#apis/hive.openshift.io/model/secret-refs.ts'
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { Role, RoleBinding } from '#apis/kubernetes.ts'
import { apiVersionOf } from '#operator/model/resource.ts'

/** Of the Role and of its binding; Hive's name. */
export const GRANT_NAME = 'hive-claim-owner'
/** On both, with the uid of the claim: what another claim was granted is no concern of this one. */
export const CLAIM_UID_LABEL = 'hive.openshift.io/clusterclaim-uid'

/** The Secrets that a ClusterDeployment says its users need, where it says so at all: those that Hive grants. */
const SECRET_REFS = ['adminKubeconfigSecretRef', 'adminPasswordSecretRef'] as const

/**
 * The names of the Secrets that come with a cluster: kubeconfig, password. Any of them may be missing. What the cluster is made with,
 * such as its pull secret, is none of them, also when it is named among them (CLAIM-9).
 */
export const clusterSecrets = ({ spec }: ClusterDeployment): readonly string[] => {
  const { clusterMetadata: about } = spec
  if (typeof about !== 'object' || about === null) return []
  const installers = installerSecretNames(spec)
  return SECRET_REFS.flatMap((key) => {
    const reference = (about as Readonly<Record<string, unknown>>)[key]
    const { name } = (reference ?? {}) as { readonly name?: unknown }
    return typeof name === 'string' && name !== '' && !installers.includes(name) ? [name] : []
  })
}

/**
 * The Role and the binding as they should be. What patch may change is bounded by the policy muster-claim-owners: docs/decisions/claim-owners.md.
 * @param secrets the names of the Secrets that the subjects may read
 */
export const buildGrants = (claim: ClusterClaim, cluster: ClusterDeployment, secrets: readonly string[]) => {
  const { subjects = [] } = claim.spec
  const metadata = {
    name: GRANT_NAME,
    namespace: cluster.metadata.namespace ?? '',
    labels: { [CLAIM_UID_LABEL]: claim.metadata.uid },
  }
  const role = {
    apiVersion: apiVersionOf(Role),
    kind: Role.kind,
    metadata,
    rules: [
      {
        apiGroups: [ClusterDeployment.group],
        resources: [ClusterDeployment.plural],
        resourceNames: [cluster.metadata.name],
        verbs: ['get', 'list', 'watch', 'patch'],
      },
      // An empty list of names would mean all of them.
      ...(secrets.length === 0
        ? []
        : [{ apiGroups: [''], resources: ['secrets'], resourceNames: secrets, verbs: ['get'] }]),
    ],
  }
  const binding = {
    apiVersion: apiVersionOf(RoleBinding),
    kind: RoleBinding.kind,
    metadata,
    roleRef: { apiGroup: Role.group, kind: Role.kind, name: GRANT_NAME },
    // As the API server would fill them in: what is compared later is the same.
    subjects: subjects.map((subject) =>
      subject.kind === 'ServiceAccount' ? subject : { apiGroup: Role.group, ...subject },
    ),
  }
  return { role, binding }
}
