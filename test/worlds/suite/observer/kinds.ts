/** The kinds of Muster that tests look at, and where the API server has them. */
const HIVE = '/apis/hive.openshift.io/v1'
const FLEET = '/apis/fleet.nationtech.io/v1alpha1'

export const KINDS = {
  ClusterPool: `${HIVE}/clusterpools`,
  ClusterClaim: `${HIVE}/clusterclaims`,
  ClusterDeployment: `${HIVE}/clusterdeployments`,
  ClusterDeploymentCustomization: `${HIVE}/clusterdeploymentcustomizations`,
  Deployment: `${FLEET}/deployments`,
  Device: `${FLEET}/devices`,
} as const

export type Kind = keyof typeof KINDS
