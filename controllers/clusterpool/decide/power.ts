/** Which unclaimed clusters run: POOL-33, POOL-34. */
import type { ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { neverHibernatesOn } from '#apis/hive.openshift.io/v1/platform.ts'
import type { Cluster, PowerState } from '../model/cluster.ts'
import { byAge } from '../model/order.ts'

/**
 * The power state of the n-th cluster of a pool, oldest first: so many run as `runningCount` says, and one more for each claim
 * that waits. Only age decides, so that no cluster is put to sleep because another one woke up.
 */
export const powerOf = (
  index: number,
  spec: Pick<ClusterPoolSpec, 'runningCount' | 'platform'>,
  waiting: number,
): PowerState =>
  neverHibernatesOn(spec) !== undefined || index < spec.runningCount + waiting ? 'Running' : 'Hibernating'

export interface PowerChange {
  readonly cluster: Cluster
  readonly power: PowerState
}

/** The clusters whose power state is to change. @param clusters Unclaimed ones that stay and are not broken, in any order. */
export const powerChanges = (
  clusters: readonly Cluster[],
  spec: Pick<ClusterPoolSpec, 'runningCount' | 'platform'>,
  waiting: number,
): readonly PowerChange[] =>
  clusters
    .toSorted(byAge)
    .map((cluster, index) => ({ cluster, power: powerOf(index, spec, waiting) }))
    .filter(({ cluster, power }) => cluster.desiredPower !== power)
