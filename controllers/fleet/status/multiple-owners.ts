/**
 * The condition `MultipleOwners`: several Deployments want one slot of a device. Said by all of them and by the device, so that
 * whoever looks at one finds the others. Pure. Anchors fleet-gitops A4.13.
 */
import { type Condition, type ConditionInput, findCondition } from '#operator/model/conditions.ts'
import type { Contention, Contest } from '../state/slot-conflicts.ts'

const TYPE = 'MultipleOwners'
/** So many are named in each list: all of a large fleet would not fit. */
const MOST_NAMED = 5

interface Said {
  readonly before: readonly Condition[] | undefined
  readonly generation: number | undefined
}

/** What a Deployment says of its slot. None without a conflict, but for one that has said it before: that one says that it is over. */
export const ownersOfDeployment = (
  slot: string | undefined,
  contention: Contention | undefined,
  said: Said,
): readonly ConditionInput[] => {
  if (slot === undefined || contention === undefined) return over(said)
  const { lost, won } = contention
  const met = [
    ...counts(lost).map(([key, count]) => `${key} has it on ${devices(count)}`),
    ...more(lost.size, 'that have it'),
    ...counts(won).map(([key, count]) => `${key} wants it on ${devices(count)} where this one has it`),
    ...more(won.size, 'that want it'),
  ]
  const message = `others name the slot ${slot} too: ${met.join(', ')}. ${ADVICE}`
  return claim('True', lost.size > 0 ? 'SlotTaken' : 'SlotContested', message, said)
}

/** What a Device says of its slots. */
export const ownersOfDevice = (contests: readonly Contest[], said: Said): readonly ConditionInput[] => {
  if (contests.length === 0) return over(said)
  const met = contests
    .toSorted((a, b) => (a.slot < b.slot ? -1 : 1))
    .slice(0, MOST_NAMED)
    .map(({ slot, owner, others }) => {
      const named = [...others.slice(0, MOST_NAMED), ...more(others.length, 'Deployments')]
      return `${owner} has the slot ${slot}, which is also wanted by ${named.join(', ')}`
    })
  const message = `${[...met, ...more(contests.length, 'slots')].join('; ')}. ${ADVICE}`
  return claim('True', 'SlotContested', message, said)
}

const ADVICE = 'A device runs one of them, by priority, then the oldest: change slot, priority or selector'

const over = (said: Said): readonly ConditionInput[] =>
  findCondition(said.before, TYPE) === undefined ? [] : claim('False', 'OneOwner', '', said)

const claim = (
  status: 'True' | 'False',
  reason: string,
  message: string,
  { generation }: Said,
): readonly ConditionInput[] => [
  { type: TYPE, status, reason, message, ...(generation !== undefined && { observedGeneration: generation }) },
]

/** The most devices first. In an order of their own, so that equal counts make an equal message. */
const counts = (met: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
  [...met].toSorted(([a, many], [b, most]) => most - many || (a < b ? -1 : 1)).slice(0, MOST_NAMED)

const more = (all: number, what: string): readonly string[] =>
  all > MOST_NAMED ? [`and ${all - MOST_NAMED} more ${what}`] : []

const devices = (count: number): string => (count === 1 ? '1 device' : `${count} devices`)
