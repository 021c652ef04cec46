/** How a change of a Deployment reaches its devices, and where it stands. FLEET-37 to FLEET-47, FLEET-74. */
import Type, { type Static } from 'typebox'
import { amountOrShare } from '#apis/schema/amount-or-share.ts'
import { duration, span } from '#apis/schema/duration.ts'
import { labelSelector } from '#apis/schema/label-selector.ts'
import { rules } from '#apis/schema/rule.ts'
import { count } from '#apis/schema/status.ts'
import { windows } from './window.ts'

const batch = () =>
  Type.Object(
    {
      selector: Type.Optional(
        labelSelector({ description: 'Which of the matched devices; all of them when absent or empty.' }),
      ),
      limit: Type.Optional(
        amountOrShare({
          description: 'How many of these, or which share of them; all of them when absent.',
        }),
      ),
    },
    {
      description: 'Devices that get a change together.',
      ...rules({
        rule: 'has(self.selector) || has(self.limit)',
        message: 'a batch must have a selector or a limit: devices that no batch takes come last by themselves',
      }),
    },
  )

const disruptionBudget = () =>
  Type.Object(
    {
      groupBy: Type.Optional(
        Type.Array(Type.String({ description: 'A label key.', minLength: 1, maxLength: 317 }), {
          description: 'Devices with the same values of these labels are one group; all devices are one when absent.',
          maxItems: 8,
          'x-kubernetes-list-type': 'set',
        }),
      ),
      maxUnavailable: amountOrShare({
        description: 'How many devices of a group, or which share, may be offline, changing or failed at once.',
      }),
    },
    { description: 'No change begins on a device while so many of its group are unavailable. Counts beside batches.' },
  )

/** What a change does when a batch fails. */
const ON_FAILURE = ['Suspend', 'Rollback'] as const

const rollback = () =>
  Type.Object(
    {
      strategy: Type.Enum(['Immediate', 'Batches'], {
        description:
          'Immediate: to all devices at once, outside of windows too. Batches: as the revision that is taken back came, with its batches, soak, windows and approval; a device that says that what it was given does not run goes back at once.',
      }),
    },
    {
      description:
        'How devices go back to an older workload. When absent: a rollout in batches goes back in batches, any other at once.',
    },
  )

export const rollout = () =>
  Type.Object(
    {
      strategy: Type.Enum(['AllAtOnce', 'Batches'], {
        description: 'Whether a change goes to all matched devices at once or batch by batch.',
        default: 'AllAtOnce',
      }),
      batches: Type.Optional(
        Type.Array(batch(), {
          description:
            'The batches in their order; a device belongs to the first that takes it. One more, of all that are left, comes last.',
          minItems: 1,
          maxItems: 16,
          'x-kubernetes-list-type': 'atomic',
        }),
      ),
      approval: Type.Enum(['Automatic', 'Manual'], {
        description:
          'Whether the next batch begins by itself, or waits for the annotation fleet.nationtech.io/approve-batch with its number and that of the revision, such as 2@5, or 2@5.2 once the batches of the revision are drawn the second time.',
        default: 'Automatic',
      }),
      successThreshold: Type.Integer({
        description: 'The percentage of the devices of a batch that must succeed before the next one begins.',
        minimum: 1,
        maximum: 100,
        default: 90,
      }),
      updateTimeout: duration({
        description: 'A device that was given a change and has not succeeded after this time counts as failed.',
        default: '24h',
      }),
      soak: Type.Optional(
        span({
          description: 'How long a batch must have stayed good before the next one begins; not at all when absent.',
        }),
      ),
      offlineGrace: duration({
        description:
          'A device that is offline for longer does not count in its batch; it gets the change when it is back.',
        default: '5m',
      }),
      progressDeadline: Type.Optional(
        span({ description: 'A batch that takes longer makes the Deployment Stalled; the rollout goes on.' }),
      ),
      onFailure: Type.Enum([...ON_FAILURE], {
        description: 'Whether a batch below the threshold holds the rollout, or takes it back.',
        default: 'Suspend',
      }),
      rollback: Type.Optional(rollback()),
      disruptionBudget: Type.Optional(disruptionBudget()),
      windows: windows({
        description:
          'Changes begin only while one of these is open; at any time when absent. Going back waits for one only in batches: see rollback.',
      }),
      paused: Type.Boolean({ description: 'While true, no further device gets a change.', default: false }),
    },
    {
      description: 'How a change reaches the matched devices.',
      default: {},
      ...rules(
        {
          rule: "has(self.batches) == (has(self.strategy) && self.strategy == 'Batches')",
          message: 'batches must be given for the strategy Batches, and only for it',
        },
        {
          rule: "!has(self.rollback) || self.rollback.strategy != 'Batches' || has(self.batches)",
          message: 'rollback.strategy Batches needs the strategy Batches, and batches',
        },
      ),
    },
  )

/** How a rollout stands. FLEET-23. */
const ROLLOUT_PHASES = ['Inactive', 'Active', 'Waiting', 'Suspended', 'Paused'] as const

const frozenBatch = () =>
  Type.Object(
    {
      size: Type.Integer({ description: 'Devices in it when the rollout began.', format: 'int64', minimum: 0 }),
      cut: Type.Optional(
        Type.String({
          description:
            'The place of its last device in the order of the rollout; all that its selector takes when absent.',
          maxLength: 64,
        }),
      ),
    },
    { description: 'One batch as it was frozen when the rollout began.' },
  )

/** Everything that a rollout must know to go on after a restart. */
export const rolloutStatus = () =>
  Type.Object(
    {
      phase: Type.Enum([...ROLLOUT_PHASES], { description: 'How it stands.' }),
      revision: Type.Integer({ description: 'The revision that is rolled out.', format: 'int64', minimum: 1 }),
      from: count({ description: 'The revision that devices keep until their turn comes.' }),
      startedAt: Type.String({ description: 'When it began.', format: 'date-time' }),
      batch: Type.Integer({ description: 'The batch that has its turn, counted from 1.', format: 'int64', minimum: 1 }),
      batches: Type.Array(frozenBatch(), { description: 'All batches, the implicit last one included.', maxItems: 17 }),
      policy: Type.String({ description: 'The digest of the batches of the spec: with other ones it begins anew.' }),
      drawn: count({
        description:
          'How many times the batches of this revision were drawn before all had come; once when absent. An approval is for these alone.',
      }),
      batchStartedAt: Type.String({ description: 'When its turn began.', format: 'date-time' }),
      goodSince: Type.Optional(
        Type.String({ description: 'Since when the batch is as good as it must be.', format: 'date-time' }),
      ),
      resumed: Type.Optional(
        Type.String({
          description:
            'The last value of the annotation fleet.nationtech.io/resume that was obeyed, or that stood there when the rollout was suspended.',
        }),
      ),
      refused: Type.Optional(
        Type.String({ description: 'The digest of the workload that was taken back; another one begins anew.' }),
      ),
      message: Type.Optional(Type.String({ description: 'The reason why it waits.', maxLength: 4_096 })),
    },
    { description: 'Where the rollout stands.' },
  )

export type RolloutSpec = Static<ReturnType<typeof rollout>>
export type RolloutStatus = Static<ReturnType<typeof rolloutStatus>>

/** How a revision is taken back. A default of the schema would change what is stored, so it is here. FLEET-74. */
export const rollbackStrategy = ({
  strategy,
  rollback,
}: Pick<RolloutSpec, 'strategy' | 'rollback'>): 'Immediate' | 'Batches' =>
  rollback?.strategy ?? (strategy === 'Batches' ? 'Batches' : 'Immediate')

/** A batch is good and the next one waits for an approval. What waits for a window has no good batch yet. */
export const awaitsApproval = ({ phase, goodSince }: RolloutStatus): boolean =>
  phase === 'Waiting' && goodSince !== undefined

/** The value of the annotation fleet.nationtech.io/approve-batch that lets a batch begin, and those before it. */
export const approvalOf = (batch: number, { revision, drawn = 1 }: Pick<RolloutStatus, 'revision' | 'drawn'>): string =>
  `${batch}@${revision}${drawn === 1 ? '' : `.${drawn}`}`
