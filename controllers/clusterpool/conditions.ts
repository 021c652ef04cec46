/** The conditions of a pool (POOL-17, POOL-39, POOL-46); Ready, Reconciling and Stalled as kstatus reads them. */
import { QUOTA_EXCEEDED } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { RESTORE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { neverHibernatesOn } from '#apis/hive.openshift.io/v1/platform.ts'
import { type ConditionInput, type KstatusInput, kstatusConditions } from '#operator/model/conditions.ts'
import type { Buckets } from './decide/buckets.ts'
import { describeInstallationFailures } from './decide/installation-failures.ts'
import type { Sizing } from './decide/sizing.ts'
import type { Stale } from './decide/stale.ts'
import type { Summary } from './inventory/summary.ts'
import type { Cluster } from './model/cluster.ts'
import type { ImageSetState } from './model/observed.ts'
import { compareText } from './model/order.ts'

export interface ConditionsInput {
  readonly generation: number | undefined
  readonly spec: ClusterPoolSpec
  /** Claims that this pass serves included. */
  readonly buckets: Buckets
  readonly waiting: number
  readonly sizing: Sizing
  readonly stale: readonly Stale[]
  readonly missing: readonly string[]
  readonly imageSet: ImageSetState
  /** Why no cluster can be made though nothing is missing; undefined when one can. */
  readonly blockedReason: string | undefined
  /** What keeps a cluster from being made that was tried last, in words; undefined when all could be made. */
  readonly creationProblem: string | undefined
  /** Deletions that wait for a person, in words; undefined when there are none. */
  readonly held: string | undefined
  /** Undefined for a pool without inventory. */
  readonly summary: Summary | undefined
  /** How many clusters could be made soon: customizations that come back from deletions and pauses. */
  readonly returning: number
}

/** The conditions that Hive has too; the first status says of all of them that nothing is known. */
export const POOL_CONDITIONS = [
  'MissingDependencies',
  'CapacityAvailable',
  'AllClustersCurrent',
  'InventoryValid',
  'DeletionPossible',
] as const

/** And those that only Muster has. */
type OwnCondition = 'DeletionsHeld' | 'ImageSetFound'

type PoolCondition = (typeof POOL_CONDITIONS)[number] | OwnCondition
type KstatusSummary = Omit<KstatusInput, 'observedGeneration'>

/** What a pool's status says before anything was looked at. */
export const initialConditions = (generation: number | undefined): readonly ConditionInput[] => [
  ...kstatusConditions({
    type: 'Reconciling',
    reason: 'Initialized',
    message: 'the pool was just seen',
    observedGeneration: generation,
  }),
  ...POOL_CONDITIONS.map((type) => condition(generation, type, 'Unknown', 'Initialized', 'Condition Initialized')),
]

/** What a pool's status says after a pass. */
export const poolConditions = (now: ConditionsInput): readonly ConditionInput[] => [
  ...kstatusConditions({ ...summarizePool(now), observedGeneration: now.generation }),
  dependencies(now),
  imageSetFound(now),
  capacity(now),
  current(now),
  inventory(now),
  deletionsHeld(now),
]

/**
 * What the status of a pool that is being deleted says.
 * @param left Clusters that are still there.
 * @param held Deletions that wait for a person, in words; undefined when there are none.
 */
export const deletionConditions = (
  generation: number | undefined,
  left: readonly Cluster[],
  leases: number,
  held: string | undefined,
): readonly ConditionInput[] => {
  const names = joinNames(left)
  return [
    ...kstatusConditions({
      ...(held === undefined
        ? {
            type: 'Reconciling',
            reason: 'Deleting',
            message: `what is left: clusters ${left.length}, leases ${leases}`,
          }
        : { type: 'Stalled', reason: 'DeletionsHeld', message: held }),
      observedGeneration: generation,
    }),
    deletionsHeld({ generation, held }),
    left.length === 0
      ? condition(generation, 'DeletionPossible', 'True', 'DeletionPossible', 'No ClusterDeployments pending cleanup')
      : condition(generation, 'DeletionPossible', 'False', 'ClusterDeploymentsPendingCleanup', names),
  ]
}

/** What the status of a pool that is being restored says. POOL-52. */
export const restoreConditions = (
  generation: number | undefined,
  clusters: number,
  claimed: number,
): readonly ConditionInput[] =>
  kstatusConditions({
    type: 'Stalled',
    reason: 'Restoring',
    message: `is being restored: clusters that came back: ${clusters}, claimed ones among them: ${claimed}; when all have, take the label ${RESTORE_LABEL} off`,
    observedGeneration: generation,
  })

const condition = (
  observedGeneration: number | undefined,
  type: PoolCondition,
  status: ConditionInput['status'],
  reason: string,
  message: string,
): ConditionInput => ({
  type,
  status,
  reason,
  message,
  ...(observedGeneration !== undefined && { observedGeneration }),
})

/** How the pool stands, the gravest first. */
const summarizePool = (now: ConditionsInput): KstatusSummary => {
  const { sizing, buckets, spec, stale, waiting } = now
  const { installing, deleting, marked, broken, standby, assignable } = buckets
  const stalled = (reason: string, message: string): KstatusSummary => ({ type: 'Stalled', reason, message })
  const onTheWay = (reason: string, message: string): KstatusSummary => ({ type: 'Reconciling', reason, message })
  const isBusy = sizing.add > 0 || sizing.delete.length > 0 || installing.length + deleting.length > 0
  const desired = `${standby.length + assignable.length} of ${spec.size + waiting} wanted clusters are installed`
  const failures = describeInstallationFailures(buckets)

  if (now.held !== undefined) return stalled('DeletionsHeld', now.held)
  if (now.missing.length > 0) return stalled('MissingDependencies', `add what is missing: ${now.missing.join('; ')}`)
  if (now.blockedReason !== undefined) return stalled('BrokenByConfiguration', now.blockedReason)
  if (sizing.missing > 0 && !isBusy) {
    if (spec.maxConcurrent === 0) return stalled('Frozen', `${desired}; raise maxConcurrent, which is 0`)
    if (sizing.capacity <= 0)
      return stalled('MaxCapacity', `${desired}; raise maxSize, or wait until claims are released`)
    if (now.returning > 0) return onTheWay('WaitingForCustomizations', `${desired}; a customization will be free again`)
    return stalled('NoFreeCustomization', `${desired}; ${now.summary?.sentence}${failures}`)
  }
  if (sizing.missing > 0 && now.creationProblem !== undefined)
    return onTheWay('CreationFailing', `${desired}; ${now.creationProblem}; tried again`)
  const quota = quotaProblem(buckets)
  if (quota !== undefined) return onTheWay(QUOTA_EXCEEDED, `${desired}; ${quota}`)
  if (sizing.missing > 0 || installing.length > 0 || broken.length > 0)
    return onTheWay('Filling', `${desired}${failures}`)
  if (marked.length + deleting.length > 0 || sizing.missing < 0)
    return onTheWay('Shrinking', `clusters that go: ${marked.length + deleting.length}; ${desired}`)
  if (stale.length > 0) return onTheWay('Replacing', `outdated clusters: ${stale.length}; replaced one after the other`)
  const running =
    neverHibernatesOn(spec) === undefined ? spec.runningCount + waiting : standby.length + assignable.length
  if (assignable.length < running)
    return onTheWay(
      'Resuming',
      `running clusters: ${assignable.length} of ${running} that should${unreachableNote(standby)}`,
    )
  return {
    type: 'Ready',
    reason: 'Filled',
    message: `${desired}; running: ${assignable.length}${hibernationNote(spec)}`,
  }
}

const unreachableNote = (standby: readonly Cluster[]): string => {
  const unreachable = standby.filter((cluster) => cluster.unreachable !== undefined)
  return unreachable.length === 0 ? '' : `; unreachable: ${joinNames(unreachable)}`
}

const hibernationNote = (spec: ClusterPoolSpec): string => {
  const cloud = neverHibernatesOn(spec)
  if (cloud === undefined || spec.runningCount === spec.size) return ''
  return `; runningCount ${spec.runningCount} has no effect: clusters on ${cloud} can't hibernate`
}

const dependencies = ({ generation, missing }: ConditionsInput): ConditionInput =>
  missing.length === 0
    ? condition(generation, 'MissingDependencies', 'False', 'Verified', 'Dependencies verified')
    : condition(generation, 'MissingDependencies', 'True', 'Missing', missing.join('; '))

/** Is its release known here? A provider may read none, and then nothing else tells of a name that is none. POOL-106. */
const imageSetFound = ({ generation, imageSet, spec: { imageSetRef } }: ConditionsInput): ConditionInput => {
  const { name } = imageSetRef
  const say = (status: ConditionInput['status'], reason: string, message: string) =>
    condition(generation, 'ImageSetFound', status, reason, message)
  switch (imageSet) {
    case 'Found':
      return say('True', 'Found', `ClusterImageSet ${name} is there`)
    case 'Missing':
      return say('False', 'Missing', `there is no ClusterImageSet ${name}`)
    case 'NotServed':
      return say(
        'Unknown',
        'NotLookedUp',
        `ClusterImageSets are not served here, so only the provider of the clusters can say whether ${name} is a release; one that reads no release takes any name`,
      )
  }
}

/** What a cluster that waits for a quota says of it: POOL-70. */
const quotaProblem = ({ installing }: Buckets): string | undefined =>
  installing.find(({ quota }) => quota !== undefined)?.quota

const capacity = ({ generation, sizing, spec, buckets }: ConditionsInput): ConditionInput => {
  const quota = quotaProblem(buckets)
  if (quota !== undefined) return condition(generation, 'CapacityAvailable', 'False', QUOTA_EXCEEDED, quota)
  return sizing.capacity > 0
    ? condition(generation, 'CapacityAvailable', 'True', 'Available', 'Capacity available')
    : condition(
        generation,
        'CapacityAvailable',
        'False',
        'MaxCapacity',
        `Pool is at maximum capacity of ${spec.maxSize} waiting and claimed clusters.`,
      )
}

const current = ({ generation, stale }: ConditionsInput): ConditionInput => {
  const outdated = stale.filter(({ staleness }) => staleness !== 'UnknownVersion').map(({ cluster }) => cluster)
  const unknown = stale.filter(({ staleness }) => staleness === 'UnknownVersion').map(({ cluster }) => cluster)
  const say = (status: ConditionInput['status'], reason: string, message: string) =>
    condition(generation, 'AllClustersCurrent', status, reason, message)
  if (outdated.length > 0) return say('False', 'SomeClusterDeploymentsStale', joinNames(outdated))
  if (unknown.length > 0) return say('Unknown', 'SomeClusterDeploymentsUnknown', joinNames(unknown))
  return say('True', 'ClusterDeploymentsCurrent', 'All unclaimed clusters are of the present pool version')
}

const inventory = ({ generation, summary }: ConditionsInput): ConditionInput => {
  if (summary === undefined)
    return condition(generation, 'InventoryValid', 'Unknown', 'NoInventory', 'The pool has no inventory')
  const { isValid, sentence } = summary
  return condition(generation, 'InventoryValid', isValid ? 'True' : 'False', isValid ? 'Valid' : 'Invalid', sentence)
}

const deletionsHeld = ({ generation, held }: Pick<ConditionsInput, 'generation' | 'held'>): ConditionInput =>
  held === undefined
    ? condition(generation, 'DeletionsHeld', 'False', 'NothingHeld', '')
    : condition(generation, 'DeletionsHeld', 'True', 'TooManyAtOnce', held)

/** A condition's message has room for so many names. */
const MAX_NAMES = 50

const joinNames = (clusters: readonly Cluster[]): string => {
  const names = clusters.map(({ name }) => name).toSorted(compareText)
  return `${names.slice(0, MAX_NAMES).join(', ')}${names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''}`
}
