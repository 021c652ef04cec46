/** What pools, claims and clusters ask of people. Pure. */
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool, type InventoryEntry } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { keyOf } from '#operator/model/resource.ts'
import { objectPath } from '../parts/links.ts'
import { conditionFindings, RECONCILING_GRACE_MS } from './condition-findings.ts'
import { type Finding, findingSubject } from './finding.ts'

const BROKEN: readonly InventoryEntry['status'][] = ['BrokenByConfiguration', 'BrokenByCloud', 'Missing']
/** Named in one message. */
const MOST_NAMES = 3

export const poolFindings = (pool: ClusterPool, now: Date): readonly Finding[] => {
  const subject = findingSubject(ClusterPool, pool, objectPath('pools', keyOf(pool.metadata)))
  const entries = Object.entries(pool.status?.inventory ?? {})
  const broken = entries.filter(([, { status }]) => BROKEN.includes(status))
  const named = broken
    .slice(0, MOST_NAMES)
    .map(([name, { status, message }]) => `${name} is ${status}${message === undefined ? '' : ` (${message})`}`)
  const more = broken.length > MOST_NAMES ? ` and ${broken.length - MOST_NAMES} more` : ''
  const inventory: readonly Finding[] =
    broken.length === 0
      ? []
      : [
          {
            ...subject,
            severity: 'Act',
            reason: 'BrokenCustomizations',
            message: `${broken.length} of ${entries.length} customizations can’t be used: ${named.join('; ')}${more}`,
            since: findCondition(pool.status?.conditions, 'InventoryValid')?.lastTransitionTime,
          },
        ]
  return [...conditionFindings(pool, subject, now), ...inventory]
}

export const claimFindings = (claim: ClusterClaim, now: Date): readonly Finding[] => {
  const subject = findingSubject(ClusterClaim, claim, objectPath('claims', keyOf(claim.metadata)))
  const pending = findCondition(claim.status?.conditions, 'Pending')
  const since = pending?.lastTransitionTime ?? claim.metadata.creationTimestamp
  const waits = pending?.status === 'True' && now.getTime() - Date.parse(since ?? '') >= RECONCILING_GRACE_MS
  const queue = claim.status?.queuePosition ?? 0
  const place = queue > 0 ? `; number ${queue} of those that wait` : ''
  const waiting: readonly Finding[] = waits
    ? [{ ...subject, severity: 'Wait', reason: pending.reason, message: `${pending.message}${place}`, since }]
    : []
  return [...conditionFindings(claim, subject, now), ...waiting]
}

export const clusterFindings = (cluster: ClusterDeployment, now: Date): readonly Finding[] =>
  conditionFindings(cluster, findingSubject(ClusterDeployment, cluster, undefined), now)
