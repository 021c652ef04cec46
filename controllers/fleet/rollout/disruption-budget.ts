/**
 * The disruption budget: of devices with the same labels, so many may be unavailable at once. FLEET-47, FLEET-76. Pure.
 */
import type { RolloutSpec } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import type { AmountOrShare } from '#apis/schema/amount-or-share.ts'
import type { Labels } from '#operator/model/selector.ts'

export interface BudgetedDevice {
  readonly name: string
  readonly labels: Labels
  /** Offline, at work on a change, or failed. A slot is free again only when the device is well. */
  readonly isUnavailable: boolean
  /** It says itself that what it was given does not run. Unavailable ones that say nothing may well run. */
  readonly isDown: boolean
}

type Budget = NonNullable<RolloutSpec['disruptionBudget']>

/** A share is rounded down, but one may always change: else nothing ever would. */
const roundDownShare = (most: AmountOrShare, all: number): number =>
  typeof most === 'number' ? most : Math.max(1, Math.floor((all * Number.parseInt(most, 10)) / 100))

const groupOf = ({ groupBy = [] }: Budget, labels: Labels): string =>
  JSON.stringify(groupBy.map((key) => (Object.hasOwn(labels, key) ? labels[key] : null)))

/**
 * Those of the waiting devices that may change now, in their order. One that is down takes no slot, and one of which nothing is
 * known but that it is unavailable has one already: when reports are lost, all are such.
 * @param all Every device of the Deployment. @param waiting Those of them that are next, the first one first.
 */
export const admitWithinBudget = <D extends BudgetedDevice>(
  budget: Budget | undefined,
  all: Iterable<BudgetedDevice>,
  waiting: readonly D[],
): readonly D[] => {
  if (budget === undefined) return waiting
  const groups = new Map<string, { size: number; unavailable: number }>()
  for (const { labels, isUnavailable } of all) {
    const key = groupOf(budget, labels)
    const group = groups.get(key) ?? { size: 0, unavailable: 0 }
    groups.set(key, { size: group.size + 1, unavailable: group.unavailable + (isUnavailable ? 1 : 0) })
  }
  return waiting.filter(({ labels, isUnavailable, isDown }) => {
    const group = groups.get(groupOf(budget, labels))
    if (group === undefined || isDown) return true
    const own = isUnavailable ? 1 : 0
    if (group.unavailable - own >= roundDownShare(budget.maxUnavailable, group.size)) return false
    group.unavailable += 1 - own
    return true
  })
}
