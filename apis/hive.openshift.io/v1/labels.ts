/**
 * What controllers write onto pools, claims and clusters so that they know them again, and each other's. Names as Hive's, where
 * Hive has the same mark.
 */

/** On a ClusterDeployment: the pool version that it was made with. */
export const VERSION_ANNOTATION = 'hive.openshift.io/cluster-pool-spec-hash'
/** On a ClusterDeployment: the version of the customization that it was made with. */
export const CUSTOMIZATION_VERSION_ANNOTATION = 'hive.openshift.io/customization-version'
/** On a ClusterDeployment, "true": its user is done with it. The second one is Hive's older spelling. */
export const REMOVE_ANNOTATIONS = [
  'hive.openshift.io/remove-cluster-from-pool',
  'hive.openshift.io/remove-claimed-cluster-from-pool',
] as const
/**
 * On clusters and all that is made for them. The uid is what counts: a pool in another namespace, or a later one, may have the same
 * name (POOL-36). Namespace and name are there for people.
 */
export const POOL_LABELS = {
  uid: 'hive.openshift.io/clusterpool-uid',
  namespace: 'hive.openshift.io/clusterpool-namespace',
  name: 'hive.openshift.io/clusterpool-name',
} as const
/** On a Secret beside a pool, "true": pools there may put what is in it beside their clusters. */
export const COPIED_LABEL = 'muster.dev/copied-by-pools'
/** On a ClusterDeployment, and so on its record: which provider makes the cluster. docs/providers.md. */
export const PROVIDER_LABEL = 'provider'
/** On a ClusterRole: the provider whose account has these rights beside its clusters; on a RoleBinding that a pool made of it, too. POOL-84. */
export const PROVIDER_ROLE_LABEL = 'muster.dev/provider'
/** On such a ClusterRole: the ServiceAccount that has the rights, as `namespace/name`. */
export const PROVIDER_ACCOUNT_ANNOTATION = 'muster.dev/provider-account'
/**
 * On a ClusterDeployment: it stays until its lease is released. On a ClusterDeploymentCustomization: it stays while leased.
 * POOL-6, POOL-7.
 */
export const LEASE_FINALIZER = 'hive.openshift.io/customization-lease'
/**
 * "true" on pools, claims, clusters and customizations that are being restored from a backup, as Hive has it on ClusterDeployments. With it
 * they may be created as they were, claimed; and nothing of them is made, leased or deleted until it is taken off (POOL-52).
 */
export const RESTORE_LABEL = 'hive.openshift.io/disable-creation-webhook-for-dr'
/** On a ClusterPool: the name of a list of deletions that a person releases (POOL-53). */
export const RELEASE_DELETIONS_ANNOTATION = 'hive.openshift.io/release-deletions'
/** On a ClusterPool: it stays while it has clusters or leases. */
export const POOL_FINALIZER = 'hive.openshift.io/clusters'
/** On a ClusterClaim: it stays until its cluster is gone. */
export const CLAIM_FINALIZER = 'hive.openshift.io/claim'
