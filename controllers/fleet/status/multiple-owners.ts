/**
 * The condition `MultipleOwners`: several Deployments want one slot of a device. Said by all of them and by the device, so that
 * each names the others. Pure. FLEET-29.
 */
import { type Condition, type ConditionInput, findCondition } from '#operator/model/conditions.ts'
import type { ConflictCounts, SlotConflict } from '../state/slot-conflicts.ts'

const TYPE = 'MultipleOwners'
/** So many are named in each list: all of a large fleet would not fit. */
const MAX_NAMED = 5

interface ConditionContext {
  readonly before: readonly Condition[] | undefined
  readonly generation: number | undefined
}

/** The condition of a Deployment. None without a conflict, unless the Deployment has the condition: then it becomes False. */
export const deploymentSlotConditions = (
  slot: string | undefined,
  conflictCounts: ConflictCounts | undefined,
  context: ConditionContext,
): readonly ConditionInput[] => {
  if (slot === undefined || conflictCounts === undefined) return conflictEnded(context)
  const { lost, won } = conflictCounts
  const parts = [
    ...mostDevicesFirst(lost).map(([key, count]) => `${key} has it on ${devices(count)}`),
    ...andMore(lost.size, 'that have it'),
    ...mostDevicesFirst(won).map(([key, count]) => `${key} wants it on ${devices(count)} where this one has it`),
    ...andMore(won.size, 'that want it'),
  ]
  const message = `others name the slot ${slot} too: ${parts.join(', ')}. ${ADVICE}`
  return buildCondition('True', lost.size > 0 ? 'SlotTaken' : 'SlotContested', message, context)
}

/** What a Device says of its slots. */
export const deviceSlotConditions = (
  conflicts: readonly SlotConflict[],
  context: ConditionContext,
): readonly ConditionInput[] => {
  if (conflicts.length === 0) return conflictEnded(context)
  const parts = conflicts
    .toSorted((a, b) => (a.slot < b.slot ? -1 : 1))
    .slice(0, MAX_NAMED)
    .map(({ slot, owner, others }) => {
      const named = [...others.slice(0, MAX_NAMED), ...andMore(others.length, 'Deployments')]
      return `${owner} has the slot ${slot}, which is also wanted by ${named.join(', ')}`
    })
  const message = `${[...parts, ...andMore(conflicts.length, 'slots')].join('; ')}. ${ADVICE}`
  return buildCondition('True', 'SlotContested', message, context)
}

const ADVICE = 'A device runs one of them, by priority, then the oldest: change slot, priority or selector'

const conflictEnded = (context: ConditionContext): readonly ConditionInput[] =>
  findCondition(context.before, TYPE) === undefined ? [] : buildCondition('False', 'OneOwner', '', context)

const buildCondition = (
  status: 'True' | 'False',
  reason: string,
  message: string,
  { generation }: ConditionContext,
): readonly ConditionInput[] => [
  { type: TYPE, status, reason, message, ...(generation !== undefined && { observedGeneration: generation }) },
]

/** The most devices first. In an order of their own, so that equal counts make an equal message. */
const mostDevicesFirst = (counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
  [...counts].toSorted(([a, many], [b, most]) => most - many || (a < b ? -1 : 1)).slice(0, MAX_NAMED)

const andMore = (all: number, what: string): readonly string[] =>
  all > MAX_NAMED ? [`and ${all - MAX_NAMED} more ${what}`] : []

const devices = (count: number): string => (count === 1 ? '1 device' : `${count} devices`)
