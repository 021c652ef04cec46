/**
 * Which devices may have a revision now, from what is stored: the spec, the revision and the status that the leader wrote. Every
 * replica finds the same, so all of them may write. What needs the numbers of one moment, a disruption budget, is the leader's
 * alone. Pure.
 */
import type { RolloutSpec, RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import type { RolloutPlan } from '../state/views.ts'
import { batchesDigest, effectiveSpec, findBatch } from './advance.ts'
import type { RolloutId } from './batches.ts'
import { findOpening, parseWindows } from './maintenance-windows.ts'

export interface RolloutPlanInput {
  readonly spec: RolloutSpec
  readonly id: RolloutId
  /** The revision before; undefined for the first one. */
  readonly from: number | undefined
  readonly isRestoring: boolean
  /** As it is stored; undefined when nothing is. */
  readonly stored: RolloutStatus | undefined
  /** With a budget: the devices that have a place in it. Empty for a replica that does not lead. */
  readonly admitted: ReadonlySet<string>
  /** Its windows are open, or none holds it: see `isOpen`. */
  readonly isOpen: boolean
}

/** Changes may begin now. @throws WindowError */
export const isOpen = (input: Pick<RolloutPlanInput, 'spec' | 'isRestoring'>, now: Date): boolean =>
  findOpening(parseWindows(effectiveSpec(input).windows, 'spec.rollout.windows'), now).isOpen

/** The stored status is of this revision and these batches: it says what became of the rollout. */
export const belongsToRollout = (
  stored: RolloutStatus | undefined,
  { spec, id, isRestoring }: Pick<RolloutPlanInput, 'spec' | 'id' | 'isRestoring'>,
): stored is RolloutStatus =>
  stored?.revision === id.revision && stored.policy === batchesDigest(effectiveSpec({ spec, isRestoring }))

/** @throws SelectorError */
export const planRollout = (input: RolloutPlanInput): RolloutPlan => {
  const { from, isRestoring, stored, admitted, isOpen } = input
  const spec = effectiveSpec(input)
  const keeps = from === undefined ? {} : { from }
  if (spec.disruptionBudget !== undefined)
    return { ...keeps, admits: ({ name }, isDown) => admitted.has(name) && (isOpen || (isRestoring && isDown)) }
  if (belongsToRollout(stored, input)) {
    if (stored.phase === 'Paused') return { ...keeps, admits: () => false }
    // What is down goes back at once, also when the way back is suspended: it has nothing to lose. FLEET-74.
    if (stored.phase === 'Suspended') return { ...keeps, admits: (_device, isDown) => isRestoring && isDown }
    const batchOf = findBatch(input, stored)
    return {
      ...keeps,
      admits: (device, isDown) => (isRestoring && isDown) || (isOpen && batchOf(device) <= stored.batch),
    }
  }
  // All at once needs no batches, so it does not wait for a leader. Everything else begins with what the leader froze.
  const begins = isOpen && spec.strategy === 'AllAtOnce' && !spec.paused
  return { ...keeps, admits: () => begins }
}
