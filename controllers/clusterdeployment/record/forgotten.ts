import type { Index } from '#operator/client/store.ts'
import type { KubernetesIdentity } from './origin.ts'
import type { RecordCache } from './record-cache.ts'

interface KnownHere {
  readonly kubernetes: Pick<KubernetesIdentity, 'isOwn'>
  /** Of the ClusterDeployments that there are. */
  readonly registrations: Pick<Index<string, true>, 'get'>
}

/** How many living clusters this Kubernetes cluster registered and has no ClusterDeployment for. CLUSTER-43. */
export const countForgotten = (
  records: Pick<RecordCache, 'living'>,
  { kubernetes, registrations }: KnownHere,
): number => {
  let count = 0
  for (const { registration, labels } of records.living())
    if (registration !== undefined && kubernetes.isOwn({ labels }) && registrations.get(registration).length === 0)
      count += 1
  return count
}
