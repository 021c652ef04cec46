/** How the devices of a Deployment do, counted: its `status.aggregate`. Pure. Design page 60; anchors fleet-gitops A4.4. */
import type { Aggregate } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { type Hold, holdOf, type Known, progressOf, type Standing, standingOf } from './placement.ts'
import type { DeploymentView, DeviceView } from './views.ts'

/** So many are named. */
const MOST_OFFENDERS = 10
/** The worst first; whoever succeeded is no offender. */
const RANK = { failed: 0, offline: 1, unreported: 2, held: 3, pending: 4 } as const

/** Characters of a message in the status. */
const LONGEST_MESSAGE = 1_024

type Offender = Aggregate['offenders'][number]

const HELD: Readonly<Record<Hold, string | undefined>> = {
  Pinned: 'it is pinned',
  // As it should be while a rollout is under way.
  NotItsTurn: undefined,
  ConflictPaused:
    'it has a later revision than there is: the cluster was restored from a backup; nothing is written until the Deployment has caught up',
}

/** What a person would want to know of a device that is not as wanted; undefined when there is nothing to say. */
const complaint = (deployment: DeploymentView, known: Known & { device: DeviceView }, standing: Standing) => {
  const message = known.said?.state.message
  switch (standing) {
    case 'failed':
      return message ?? 'it does not say why'
    case 'offline':
      return 'no heartbeat'
    case 'unreported':
      return 'online, but it has said nothing of this Deployment'
    case 'held': {
      const hold = holdOf(deployment, known.device, known)
      return hold === undefined ? (message ?? 'it holds the update back') : HELD[hold]
    }
    case 'pending':
      return known.isAlive ? undefined : 'no heartbeat, and it never said anything of this Deployment'
    case 'succeeded':
      return undefined
  }
}

/** @param matched What is known of every device that the Deployment matches. */
export const aggregateOf = (
  deployment: DeploymentView,
  matched: Iterable<Known & { readonly device: DeviceView }>,
): Aggregate => {
  const counts = { succeeded: 0, failed: 0, pending: 0, offline: 0, unreported: 0, held: 0 }
  let all = 0
  let targeted = 0
  let updated = 0
  const offenders: Offender[] = []
  let newest = { revision: 0, message: '' }
  for (const known of matched) {
    const standing = standingOf(deployment, known.device, known)
    const { isTargeted, isUpdated } = progressOf(deployment, known)
    all += 1
    counts[standing] += 1
    if (isTargeted) targeted += 1
    if (isUpdated) updated += 1
    const message = complaint(deployment, known, standing)
    if (message === undefined || standing === 'succeeded') continue
    const device = known.placement.device
    offenders.push({ device, state: standing, message: message.slice(0, LONGEST_MESSAGE) })
    const revision = known.said?.revision ?? 0
    if (standing === 'failed' && revision > newest.revision)
      newest = { revision, message: `${device}: ${message}`.slice(0, LONGEST_MESSAGE) }
  }
  offenders.sort((a, b) => RANK[a.state] - RANK[b.state] || (a.device < b.device ? -1 : 1))
  return {
    matched: all,
    targeted,
    updated,
    ...counts,
    lastError: newest.message,
    offenders: offenders.slice(0, MOST_OFFENDERS),
  }
}
