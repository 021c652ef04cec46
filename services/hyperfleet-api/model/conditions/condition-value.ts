import type { Condition } from '../resource.ts'
import type { Timestamp } from '../timestamp.ts'

/** What a rule says of a condition, before it is compared with the condition there was. */
export type ConditionValue = Pick<
  Condition,
  'status' | 'reason' | 'message' | 'observed_generation' | 'last_updated_time'
>

/**
 * The condition that follows from a verdict.
 * @param updatedTime when the resource was last changed: a condition is as old as the change that brought it up
 */
export const buildCondition = (
  type: string,
  { status, reason, message, observed_generation, last_updated_time }: ConditionValue,
  previous: Condition | undefined,
  updatedTime: Timestamp,
): Condition => ({
  type,
  status,
  ...(reason !== undefined && { reason }),
  ...(message !== undefined && { message }),
  observed_generation,
  created_time: previous?.created_time ?? updatedTime,
  last_updated_time,
  last_transition_time: transitionTime({ status, observed_generation, last_updated_time }, previous, updatedTime),
})

/** Since when the status is what it is; a spec change that takes it away did so when the resource was changed. */
const transitionTime = (
  { status, observed_generation, last_updated_time }: ConditionValue,
  previous: Condition | undefined,
  updatedTime: Timestamp,
): Timestamp => {
  if (previous?.status === status) return previous.last_transition_time
  const bySpecChange =
    status === 'False' && previous !== undefined && observed_generation > previous.observed_generation
  return bySpecChange ? updatedTime : last_updated_time
}
