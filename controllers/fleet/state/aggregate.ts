/** How the devices of a Deployment do, counted: its `status.aggregate`. Pure. FLEET-27, FLEET-28. */

import { truncateMessage } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Aggregate } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { explainOffender } from './explain-placement.ts'
import { type PlacementFacts, placementPhase, rolloutProgress } from './placement.ts'
import type { DeploymentView, DeviceView } from './views.ts'

/** So many are named. */
const MAX_OFFENDERS = 10
/** The worst first; a device that succeeded is no offender. */
const RANK = { failed: 0, offline: 1, unreported: 2, held: 3, pending: 4 } as const

type Offender = Aggregate['offenders'][number]

/** @param matched What is known of every device that the Deployment matches. */
export const buildAggregate = (
  deployment: DeploymentView,
  matched: Iterable<PlacementFacts & { readonly device: DeviceView }>,
): Aggregate => {
  const counts = { succeeded: 0, failed: 0, pending: 0, offline: 0, unreported: 0, held: 0 }
  let all = 0
  let targeted = 0
  let updated = 0
  const offenders: Offender[] = []
  let newest = { revision: -1, message: '' }
  for (const known of matched) {
    const phase = placementPhase(deployment, known.device, known)
    const { isTargeted, isUpdated } = rolloutProgress(deployment, known.device, known)
    all += 1
    counts[phase] += 1
    if (isTargeted) targeted += 1
    if (isUpdated) updated += 1
    const message = explainOffender(deployment, known, phase)
    if (message === undefined || phase === 'succeeded') continue
    const device = known.placement.device
    offenders.push({ device, state: phase, message: truncateMessage(message) })
    const revision = known.reported?.revision ?? 0
    if (phase === 'failed' && revision > newest.revision)
      newest = { revision, message: truncateMessage(`${device}: ${message}`) }
  }
  return {
    matched: all,
    targeted,
    updated,
    ...counts,
    lastError: newest.message,
    offenders: chooseOffenders(offenders),
  }
}

const worstFirst = (a: Offender, b: Offender): number => RANK[a.state] - RANK[b.state] || (a.device < b.device ? -1 : 1)

/** The worst, but of each state one: devices that are offline, as some of a fleet always are, must not hide the one that a person holds. */
export const chooseOffenders = (all: readonly Offender[]): Offender[] => {
  const sorted = all.toSorted(worstFirst)
  const isFirst = ({ state }: Offender, at: number): boolean => sorted[at - 1]?.state !== state
  const firsts = sorted.filter(isFirst)
  const others = sorted.filter((offender, at) => !isFirst(offender, at))
  return [...firsts, ...others.slice(0, MAX_OFFENDERS - firsts.length)].sort(worstFirst)
}
