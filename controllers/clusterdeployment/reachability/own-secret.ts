/**
 * Whether a Secret of the name of an admin kubeconfig is this cluster's: CLUSTER-18. In the namespace of a pool's cluster only adapters and the
 * pool's manager write Secrets, and what the pool writes, under names that its author chooses, it labels. Pure.
 */
import { installerSecretNames, isPoolSecret } from '#apis/hive.openshift.io/model/secret-refs.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { RESOURCE_LABEL } from '#apis/hyperfleet.redhat.com/applied-objects.ts'
import type { Secret } from '#apis/kubernetes.ts'

/** Why it is not; undefined when it is. */
export const findForeignSecret = ({ spec, status }: ClusterDeployment, secret: Secret): string | undefined => {
  const { name, labels } = secret.metadata
  const refuse = (what: string) => `the Secret ${name} ${what}, and no kubeconfig for the users of the cluster`
  if (isPoolSecret(secret)) return refuse('was put there by the pool')
  if (installerSecretNames(spec).includes(name)) return refuse('is what the cluster is made with')
  // What an earlier cluster of this name left.
  const resource = labels?.[RESOURCE_LABEL]
  const isOther = resource !== undefined && resource !== status?.hyperfleet?.id
  return isOther ? refuse(`was made for cluster ${resource} of the HyperFleet API`) : undefined
}
