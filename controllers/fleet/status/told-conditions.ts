/** Conditions of a Deployment that stand beside Ready: what it waits for may look like another thing. Pure. */
import type { RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { type Condition, type ConditionInput, findCondition } from '#operator/model/conditions.ts'
import { ABORT_ANNOTATION, APPROVE_ANNOTATION, type Controls } from '../rollout/annotations.ts'
import type { Undecided } from '../state/undecided-devices.ts'

interface ConditionContext {
  readonly before: readonly Condition[] | undefined
  readonly generation: number | undefined
}

/** `DevicesUndecided`: its expression fails for some devices. FLEET-115. */
export const undecidedConditions = (
  undecided: Undecided | undefined,
  context: ConditionContext,
): readonly ConditionInput[] => {
  const { count, device, why } = undecided ?? { count: 0, device: '', why: '' }
  const message = `of ${count} ${count === 1 ? 'device' : 'devices'} spec.targetExpression can't say whether it is meant, so nothing is added there and nothing removed; of ${device} ${why}`
  return conditionIf(undecided !== undefined, 'DevicesUndecided', ['ExpressionFails', 'AllDecided'], message, context)
}

/** `AnnotationIgnored`: a person's annotation names another revision than that which waits for it. FLEET-116. */
export const ignoredAnnotationConditions = (
  controls: Partial<Controls>,
  rollout: RolloutStatus | undefined,
  context: ConditionContext,
): readonly ConditionInput[] => {
  const ignored = rollout === undefined ? [] : findIgnored(controls, rollout)
  const message = ignored.join('; ')
  return conditionIf(message !== '', 'AnnotationIgnored', ['OtherRevision', 'NoneIgnored'], message, context)
}

/** One of an earlier revision is left over, and told only where one of this revision is awaited. */
const findIgnored = (
  { approved, abortedRevision }: Partial<Controls>,
  { revision, phase }: RolloutStatus,
): readonly string[] => {
  const isOther = (named: number | undefined, isAwaited: boolean): named is number =>
    named !== undefined && (named > revision || (named < revision && isAwaited))
  return [
    ...(isOther(approved?.revision, phase === 'Waiting')
      ? [
          `${APPROVE_ANNOTATION} is for revision ${approved?.revision}, and revision ${revision} is rolled out: it approves nothing of that; the message of Ready has the value that does`,
        ]
      : []),
    ...(isOther(abortedRevision, phase === 'Suspended')
      ? [
          `${ABORT_ANNOTATION} is for revision ${abortedRevision}, and revision ${revision} is rolled out: it takes nothing of that back; ${revision} does`,
        ]
      : []),
  ]
}

/** Without anything to say there is none, unless the Deployment has it: then it becomes False. */
const conditionIf = (
  holds: boolean,
  type: string,
  [reason, over]: readonly [string, string],
  message: string,
  { before, generation }: ConditionContext,
): readonly ConditionInput[] => {
  if (!holds && findCondition(before, type) === undefined) return []
  return [
    {
      type,
      status: holds ? 'True' : 'False',
      reason: holds ? reason : over,
      message: holds ? message : '',
      ...(generation !== undefined && { observedGeneration: generation }),
    },
  ]
}
