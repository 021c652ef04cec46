/** Of Hive, in the order in which they are looked at. */
export const KINDS = ['ClusterDeploymentCustomization', 'ClusterPool', 'ClusterClaim', 'ClusterDeployment'] as const
export type HiveKind = (typeof KINDS)[number]
