/**
 * Which devices may have a revision now, from what is stored: the spec, the revision and the status that the leader wrote. Every
 * replica finds the same, so all of them may write. What needs the numbers of one moment, a disruption budget, is the leader's
 * alone. Pure.
 */
import type { RolloutSpec, RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import type { Course } from '../state/views.ts'
import { effective, finderOf, policyOf } from './advance.ts'
import type { RolloutId } from './batches.ts'
import { openingAt, windowsOf } from './maintenance-windows.ts'

export interface CourseInput {
  readonly spec: RolloutSpec
  readonly id: RolloutId
  /** The revision before; undefined for the first one. */
  readonly from: number | undefined
  readonly isRestoring: boolean
  /** As it is stored; undefined when nothing is. */
  readonly stored: RolloutStatus | undefined
  /** With a budget: the devices that have a place in it. Empty for who does not lead. */
  readonly slots: ReadonlySet<string>
  /** Its windows are open, or it has none: see `isOpen`. */
  readonly isOpen: boolean
}

/** Changes may begin now. @throws WindowError */
export const isOpen = (input: Pick<CourseInput, 'spec' | 'isRestoring'>, now: Date): boolean =>
  openingAt(windowsOf(effective(input).windows, 'spec.rollout.windows'), now).isOpen

/** The stored status is of this revision and these batches: it says what became of the rollout. */
export const isOfRollout = (
  stored: RolloutStatus | undefined,
  { spec, id, isRestoring }: Pick<CourseInput, 'spec' | 'id' | 'isRestoring'>,
): stored is RolloutStatus =>
  stored?.revision === id.revision && stored.policy === policyOf(effective({ spec, isRestoring }))

/** @throws SelectorError */
export const courseOf = (input: CourseInput): Course => {
  const { id, from, isRestoring, stored, slots } = input
  const spec = effective(input)
  const keeps = from === undefined ? {} : { from }
  if (!input.isOpen) return { ...keeps, admits: () => false }
  if (spec.disruptionBudget !== undefined) return { ...keeps, admits: ({ name }) => slots.has(name) }
  if (isOfRollout(stored, { ...input, isRestoring })) {
    if (stored.phase === 'Paused' || stored.phase === 'Suspended') return { ...keeps, admits: () => false }
    const batchOf = finderOf(spec, id, stored)
    return { ...keeps, admits: (device) => batchOf(device) <= stored.batch }
  }
  // All at once needs no batches, so nobody has to wait for a leader. Everything else begins with what the leader froze.
  const begins = spec.strategy === 'AllAtOnce' && !spec.paused
  return { ...keeps, admits: () => begins }
}
