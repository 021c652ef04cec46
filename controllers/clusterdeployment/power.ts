/** Whether a cluster runs, and how long it may. Pure. */
import type { ClusterDeployment, ClusterDeploymentSpec } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { neverHibernatesOn } from '#apis/hive.openshift.io/v1/platform.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { toMilliseconds } from '#operator/model/duration.ts'
import { HIBERNATING } from './conditions.ts'

export type Power = ClusterDeploymentSpec['powerState']

/** As `status.powerState` says it. */
export type CurrentPower = Power | 'Resuming' | 'Stopping'

/**
 * Whether a cluster runs, as far as is known. A change of anything else leaves it as it was.
 * @param before what was known
 * @param isThere every adapter says that all resources of the spec, power included, are there
 */
export const powerStateOf = (requested: Power, before: string | undefined, isThere: boolean): CurrentPower => {
  if (isThere || before === requested) return requested
  return requested === 'Running' ? 'Resuming' : 'Stopping'
}

/**
 * When a cluster has run for its `hibernateAfter`: since it was installed, was claimed, or was woken up last, whichever came last.
 * CLUSTER-6.
 * @returns milliseconds since the epoch; undefined while it need not be put to sleep: it does not run, it may run for ever, machines
 *   of its cloud can't sleep, or its pool switches it, because it is unclaimed
 */
export const hibernateTime = ({ spec, status }: ClusterDeployment): number | undefined => {
  const { hibernateAfter = '0s', clusterPoolRef: pool } = spec
  const mayRun = toMilliseconds(hibernateAfter)
  if (mayRun === 0 || neverHibernatesOn(spec) !== undefined) return undefined
  if (pool !== undefined && !pool.claimName) return undefined
  const runs = spec.installed && spec.powerState === 'Running' && status?.powerState === 'Running'
  const hibernating = findCondition(status?.conditions, HIBERNATING)
  if (!runs || hibernating?.status !== 'False') return undefined
  const since = [hibernating.lastTransitionTime, status?.installedTimestamp, pool?.claimedTimestamp]
  return Math.max(...since.flatMap((text) => (text === undefined ? [] : [Date.parse(text)]))) + mayRun
}
