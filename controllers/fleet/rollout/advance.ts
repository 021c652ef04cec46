/**
 * One step of a rollout: from where it stood, and how its devices do, to where it stands. All that must survive a restart is in
 * the status; asked again with the same, it says the same.
 *
 *   Active ── batch good, soaked ──► next batch … ──► Inactive (done)
 *     │ └─── next needs approval ──► Waiting ── approved ──► Active
 *     ├── all windows closed ──────► Waiting ── one opens ──► Active
 *     ├── below the threshold ─────► Suspended ── resumed, or good again ──► Active
 *     │                                  └── onFailure: Rollback, or aborted ──► the workload before, as a new revision
 *     └── spec.rollout.paused ─────► Paused ── no longer ──► Active
 *
 * FLEET-37, FLEET-39, FLEET-40, FLEET-42, FLEET-44, FLEET-45, FLEET-74. Pure.
 */

import { digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import {
  approvalOf,
  type RolloutSpec,
  type RolloutStatus,
  rollbackStrategy,
} from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { formatDuration, toMilliseconds } from '#operator/model/duration.ts'
import { APPROVE_ANNOTATION, type Controls } from './annotations.ts'
import { type BatchCounts, countBatch, judgeBatch } from './batch-counts.ts'
import { createBatchFinder, freezeBatches, type RolloutId } from './batches.ts'
import { orderKey } from './device-order.ts'
import { admitWithinBudget } from './disruption-budget.ts'
import { findOpening, type Opening, parseWindows } from './maintenance-windows.ts'
import type { RolloutDevice } from './member.ts'

export interface RolloutInput {
  readonly spec: RolloutSpec
  readonly id: RolloutId
  /** The revision before, which devices keep until their turn comes; undefined for the first one. */
  readonly from: number | undefined
  /** The revision takes the one before it back, by bringing an older workload again. */
  readonly isRestoring: boolean
  readonly before: RolloutStatus | undefined
  readonly members: readonly RolloutDevice[]
  readonly controls: Controls
  readonly now: Date
}

export interface RolloutStep {
  readonly status: RolloutStatus
  /**
   * The revision is to be taken back, in favour of this one: `restoration` makes the next revision, which is stored together
   * with what is `refused` in the status, and the next step begins it.
   */
  readonly goBackTo: number | undefined
  /** The batch takes longer than progressDeadline. */
  readonly isLate: boolean
}

/** What holds for a revision that brings back an older workload. It is never taken back itself: that would go to and fro. */
export const effectiveSpec = ({ spec, isRestoring }: Pick<RolloutInput, 'spec' | 'isRestoring'>): RolloutSpec => {
  if (!isRestoring) return spec
  if (rollbackStrategy(spec) === 'Batches') return { ...spec, onFailure: 'Suspend' }
  const { batches: _, soak: __, windows: ___, ...rest } = spec
  return { ...rest, strategy: 'AllAtOnce', approval: 'Automatic', onFailure: 'Suspend' }
}

/**
 * By which devices are drawn into batches. A revision that takes another back has the draw of that one, whose number is the one
 * before: devices go back in the order in which they got it, and the first batch is where it was seen to fail.
 */
const drawOf = ({ id, isRestoring }: Pick<RolloutInput, 'id' | 'isRestoring'>): RolloutId =>
  isRestoring ? { ...id, revision: id.revision - 1 } : id

/** Once no device waits to go back, all have the older workload: there is nothing to approve, and nothing to soak for. */
const specWhileDevicesWait = (input: RolloutInput): RolloutSpec => {
  const spec = effectiveSpec(input)
  if (!input.isRestoring || input.members.some(({ stage }) => stage === 'Waiting')) return spec
  const { soak: _, ...rest } = spec
  return { ...rest, approval: 'Automatic' }
}

const beginRollout = (input: RolloutInput, spec: RolloutSpec, policy: string): RolloutStatus => {
  const { id, from, before, members, now, isRestoring } = input
  const at = now.toISOString()
  const drawn = countDraws(id, before)
  return {
    phase: 'Active',
    revision: id.revision,
    ...(from !== undefined && { from }),
    startedAt: at,
    batch: 1,
    batches: freezeBatches(spec.batches ?? [], drawOf(input), members),
    policy,
    ...(drawn > 1 && { drawn }),
    batchStartedAt: at,
    ...(before?.resumed !== undefined && { resumed: before.resumed }),
    // Once something else is rolled out, the workload that was taken back may be asked for again.
    ...(isRestoring && before?.refused !== undefined && { refused: before.refused }),
  }
}

/**
 * How many times the batches of the revision are drawn with this one. A person approved devices that others may stand for now,
 * unless all batches had come already: then nothing is left to approve.
 */
const countDraws = ({ revision }: RolloutId, before: RolloutStatus | undefined): number => {
  if (before?.revision !== revision) return 1
  const { drawn = 1, phase } = before
  return phase === 'Inactive' ? drawn : drawn + 1
}

/** The batch of a device, counted from 1, in a rollout that has begun. @throws SelectorError */
export const findBatch = (
  input: Pick<RolloutInput, 'spec' | 'id' | 'isRestoring'>,
  { startedAt, batches }: RolloutStatus,
) =>
  createBatchFinder(effectiveSpec(input).batches ?? [], {
    ...drawOf(input),
    startedAt: Date.parse(startedAt),
    batches,
  })

/** Names the batches of a spec: with others a rollout begins anew. @param spec What is `effective`. */
export const batchesDigest = ({ batches = [] }: RolloutSpec): string => digestOf(batches)

/** Where the rollout stands now. @throws SelectorError */
export const advanceRollout = (input: RolloutInput): RolloutStep => {
  const { id, before, members, controls, now } = input
  const spec = specWhileDevicesWait(input)
  const policy = batchesDigest(spec)
  const isSame = before?.revision === id.revision && before.policy === policy
  let status = isSame ? before : beginRollout(input, spec, policy)
  if (controls.abortedRevision === id.revision && status.from !== undefined && !input.isRestoring)
    return { status, goBackTo: status.from, isLate: false }
  if (status.phase === 'Inactive') return { status, goBackTo: undefined, isLate: false }
  if (spec.paused)
    return { status: withPhase(status, 'Paused', 'spec.rollout.paused is true'), goBackTo: undefined, isLate: false }

  const batchOf = findBatch(input, status)
  for (;;) {
    const { batch } = status
    const next = advanceBatch(
      status,
      countDevices(
        members.filter((member) => batchOf(member) === batch),
        spec,
        status,
        now,
      ),
      spec,
      controls,
      now,
    )
    status = next.status
    if (next.isBad && spec.onFailure === 'Rollback' && status.from !== undefined)
      return { status, goBackTo: status.from, isLate: false }
    if (status.batch === batch) return { status, goBackTo: undefined, isLate: isLate(spec, status, now) }
  }
}

const countDevices = (
  members: readonly RolloutDevice[],
  spec: RolloutSpec,
  { batchStartedAt }: RolloutStatus,
  now: Date,
): BatchCounts => countBatch(members, spec, Date.parse(batchStartedAt), now.getTime())

/** A batch may take so long while it can get on: the clock starts anew with every window. */
const isLate = (
  { progressDeadline, windows }: RolloutSpec,
  { phase, batchStartedAt }: RolloutStatus,
  now: Date,
): boolean => {
  const opening = rolloutOpening({ windows }, now)
  if (progressDeadline === undefined || phase === 'Inactive' || !opening.isOpen) return false
  const began = Math.max(Date.parse(batchStartedAt), opening.since?.getTime() ?? 0)
  return now.getTime() - began >= toMilliseconds(progressDeadline)
}

/** @throws WindowError */
const rolloutOpening = ({ windows }: Pick<RolloutSpec, 'windows'>, now: Date): Opening =>
  findOpening(parseWindows(windows, 'spec.rollout.windows'), now)

/** The status with another phase; a batch that is not good loses its soak. */
const withPhase = (
  status: RolloutStatus,
  phase: RolloutStatus['phase'],
  message?: string,
  goodSince?: string,
): RolloutStatus => {
  const { message: _, goodSince: __, ...rest } = status
  return { ...rest, phase, ...(goodSince !== undefined && { goodSince }), ...(message !== undefined && { message }) }
}

const nextBatch = (status: RolloutStatus, now: Date): RolloutStatus =>
  status.batch >= status.batches.length
    ? withPhase(status, 'Inactive')
    : { ...withPhase(status, 'Active'), batch: status.batch + 1, batchStartedAt: now.toISOString() }

const advanceBatch = (
  status: RolloutStatus,
  tally: BatchCounts,
  spec: RolloutSpec,
  controls: Controls,
  now: Date,
): { status: RolloutStatus; isBad?: true } => {
  switch (judgeBatch(tally, spec.successThreshold)) {
    case 'Open':
      return { status: tally.waiting === 0 ? withPhase(status, 'Active') : waitForWindow(status, spec, now) }
    case 'Absent':
      return { status: advanceUncounted(status, tally, now) }
    case 'Bad': {
      const isResumed = controls.resume !== undefined && controls.resume !== status.resumed
      if (isResumed && status.phase === 'Suspended')
        return { status: { ...nextBatch(status, now), resumed: controls.resume } }
      // What stood there before the suspension is not about it.
      const seen = isResumed ? { resumed: controls.resume } : {}
      return {
        status: { ...withPhase(status, 'Suspended', describeFailure(status, tally, spec)), ...seen },
        isBad: true,
      }
    }
    case 'Good':
      return { status: advanceAfterSoak(status, spec, controls, now) }
  }
}

/** Of a batch without a device that counts. Held devices catch up by themselves, so the rollout does not wait for them behind the last batch. */
const advanceUncounted = (status: RolloutStatus, { absent, held }: BatchCounts, now: Date): RolloutStatus => {
  if (absent === 0 && status.batch >= status.batches.length) return nextBatch(status, now)
  const why = held === 0 ? 'offline' : absent === 0 ? 'held' : 'offline or held'
  return withPhase(status, 'Active', `all ${absent + held} devices of the batch are ${why}`)
}

/** Of a batch in which devices wait for the change. */
const waitForWindow = (status: RolloutStatus, spec: RolloutSpec, now: Date): RolloutStatus => {
  const opening = rolloutOpening(spec, now)
  if (opening.isOpen) return withPhase(status, 'Active')
  return withPhase(status, 'Waiting', `the next window opens at ${opening.opens?.toISOString() ?? 'no time'}`)
}

const describeFailure = ({ batch }: RolloutStatus, tally: BatchCounts, { successThreshold }: RolloutSpec): string => {
  const { succeeded, failed, timedOut, open } = tally
  const late = timedOut > 0 ? `, ${timedOut} of them by taking too long` : ''
  return `${failed} of ${succeeded + failed + open} devices of batch ${batch} failed${late}, so fewer than the required ${successThreshold}% can succeed`
}

const advanceAfterSoak = (status: RolloutStatus, spec: RolloutSpec, controls: Controls, now: Date): RolloutStatus => {
  const goodSince = status.goodSince ?? now.toISOString()
  const soak = spec.soak === undefined ? 0 : toMilliseconds(spec.soak)
  if (now.getTime() - Date.parse(goodSince) < soak)
    return withPhase(status, 'Active', `batch ${status.batch} is good and soaks for ${formatDuration(soak)}`, goodSince)
  const next = status.batch + 1
  if (next <= status.batches.length && spec.approval === 'Manual' && !isApproved(next, status, controls))
    return withPhase(
      status,
      'Waiting',
      `batch ${next} waits for approval: ${APPROVE_ANNOTATION}=${approvalOf(next, status)}`,
      goodSince,
    )
  return nextBatch(status, now)
}

const isApproved = (batch: number, { revision, drawn = 1 }: RolloutStatus, { approved }: Controls): boolean =>
  approved?.revision === revision && approved.drawn === drawn && approved.batch >= batch

/**
 * The devices that may have the revision now. A device that has it keeps it. One that is down goes back at once: waiting for its
 * batch, a window or an approval would spare it nothing. With a budget, a device that is offline waits until it is back: else all
 * that come back together would change together. @throws SelectorError
 */
export const admittedDevices = (
  input: Pick<RolloutInput, 'spec' | 'id' | 'isRestoring' | 'members' | 'now'>,
  status: RolloutStatus,
): ReadonlySet<string> => {
  const spec = effectiveSpec(input)
  const { members, isRestoring } = input
  const having = members.filter(({ stage }) => stage !== 'Waiting')
  const isSuspended = status.phase === 'Suspended'
  if (status.phase === 'Paused' || (isSuspended && !isRestoring)) return namesOf(having)
  const { isOpen } = rolloutOpening(spec, input.now)
  const batchOf = findBatch(input, status)
  const draw = drawOf(input)
  const budget = spec.disruptionBudget
  const waiting = members
    .filter((member) => member.stage === 'Waiting' && !member.isHeld && (budget === undefined || member.isAlive))
    .map((member) => ({ ...budgeted(member), batch: batchOf(member), place: orderKey(draw, member.name) }))
    .filter(({ batch, isDown }) => (isRestoring && isDown) || (isOpen && !isSuspended && batch <= status.batch))
    .toSorted((a, b) => a.batch - b.batch || (a.place < b.place ? -1 : 1))
  return namesOf([...having, ...admitWithinBudget(budget, members.map(budgeted), waiting)])
}

const budgeted = ({ name, labels, isAlive, isHealthy, isDown }: RolloutDevice) => ({
  name,
  labels,
  isUnavailable: !isAlive || !isHealthy,
  isDown,
})

const namesOf = (members: readonly { readonly name: string }[]): ReadonlySet<string> =>
  new Set(members.map(({ name }) => name))
