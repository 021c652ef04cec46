/** What a pass tells people by events: what it did and why, and what became wrong with the inventory. */
import type { ClusterPoolStatus, InventoryEntry } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { ActionResult } from './execute.ts'
import type { Action } from './model/plan.ts'

/** One Kubernetes event about the pool. */
export interface PoolEvent {
  readonly type: 'normal' | 'warning'
  /** CamelCase, from a small set. */
  readonly reason: string
  readonly message: string
}

/** Kubernetes: the note of an event has at most so many characters. */
const MAX_NOTE_CHARS = 1_024

/** @param before The status that the pass found. */
export const buildEvents = (
  results: readonly ActionResult[],
  before: ClusterPoolStatus | undefined,
): readonly PoolEvent[] =>
  results
    .flatMap((result) => eventsOfResult(result, before))
    .map((event) => ({ ...event, message: event.message.slice(0, MAX_NOTE_CHARS) }))

const eventsOfResult = (result: ActionResult, before: ClusterPoolStatus | undefined): readonly PoolEvent[] => {
  const { action } = result
  switch (result.result) {
    case 'done':
      return action.action === 'WriteStatus'
        ? inventoryWarnings(before?.inventory, action.status.inventory)
        : eventsOfAction(action)
    case 'rejected':
    case 'failed':
      return [{ type: 'warning', reason: failureReason(action), message: result.error.message }]
    case 'conflict':
      return []
  }
}

/** Reasons of events stay what they were when an action gets another name: people filter by them. */
const FORMER_NAMES: Partial<Readonly<Record<Action['action'], string>>> = {
  RepairLease: 'HealLease',
  RemoveClusterFinalizer: 'LetClusterGo',
  RemovePoolFinalizer: 'LetPoolGo',
}

const failureReason = ({ action }: Action): string => `${FORMER_NAMES[action] ?? action}Failed`

const eventsOfAction = (action: Action): readonly PoolEvent[] => {
  const say = (type: PoolEvent['type'], reason: string, message: string): PoolEvent => ({ type, reason, message })
  switch (action.action) {
    case 'CreateCluster': {
      const { cluster, customization, documents, why } = action
      const using = customization === undefined ? '' : ` with customization ${customization.name}`
      return [
        say('normal', 'ClusterCreated', `cluster ${cluster.name}${using}: ${why}`),
        ...documents.notices.map((notice) => say('warning', 'PatchNotice', notice)),
      ]
    }
    case 'DeleteCluster':
      return [say('normal', 'ClusterDeleted', `cluster ${action.cluster.name}: ${action.why}`)]
    case 'RepairLease':
      return [say('warning', 'LeaseHealed', `customization ${action.customization.name}: ${action.why}`)]
    case 'ReleaseLease':
      return [say('normal', 'LeaseReleased', `customization ${action.customization.name}: ${action.why}`)]
    case 'RemoveClusterFinalizer':
      return [say('normal', 'ClusterGone', `cluster ${action.cluster.name}: ${action.why}`)]
    case 'AssignClaim':
      return [say('normal', 'ClaimAssigned', `claim ${action.claim.name} has cluster ${action.cluster.name}`)]
    case 'ClearClaim':
      return [say('warning', 'ClaimConflict', `claim ${action.claim.name} waits again: ${action.why}`)]
    default:
      return []
  }
}

/** Statuses of an entry that need a change by its author. */
const WARNING_STATUSES: ReadonlySet<InventoryEntry['status']> = new Set([
  'Missing',
  'BrokenByConfiguration',
  'BrokenByCloud',
])

const inventoryWarnings = (
  before: ClusterPoolStatus['inventory'] = {},
  after: ClusterPoolStatus['inventory'] = {},
): readonly PoolEvent[] =>
  Object.entries(after).flatMap(([name, { status, message = '' }]): readonly PoolEvent[] => {
    const isNew = before[name]?.status !== status || before[name]?.message !== message
    if (!isNew || !WARNING_STATUSES.has(status)) return []
    return [{ type: 'warning', reason: `Customization${status}`, message: `customization ${name}: ${message}` }]
  })
