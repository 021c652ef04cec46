/** What a pass tells people by events: what it did and why, and what became wrong with the inventory. */
import type { ClusterPoolStatus, InventoryEntry } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { Result } from './execute.ts'
import type { Action } from './model/plan.ts'

/** One Kubernetes event about the pool. */
export interface News {
  readonly type: 'normal' | 'warning'
  /** CamelCase, from a small set. */
  readonly reason: string
  readonly message: string
}

/** Kubernetes: the note of an event has at most so many characters. */
const LONGEST_NOTE = 1_024

/** @param before The status that the pass found. */
export const newsOf = (results: readonly Result[], before: ClusterPoolStatus | undefined): readonly News[] =>
  results
    .flatMap((result) => newsOfOne(result, before))
    .map((news) => ({ ...news, message: news.message.slice(0, LONGEST_NOTE) }))

const newsOfOne = (result: Result, before: ClusterPoolStatus | undefined): readonly News[] => {
  const { action } = result
  switch (result.result) {
    case 'done':
      return action.action === 'WriteStatus' ? troubles(before?.inventory, action.status.inventory) : told(action)
    case 'refused':
    case 'failed':
      return [{ type: 'warning', reason: `${action.action}Failed`, message: result.error.message }]
    case 'overtaken':
      return []
  }
}

const told = (action: Action): readonly News[] => {
  const say = (type: News['type'], reason: string, message: string): News => ({ type, reason, message })
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
    case 'HealLease':
      return [say('warning', 'LeaseHealed', `customization ${action.customization.name}: ${action.why}`)]
    case 'ReleaseLease':
      return [say('normal', 'LeaseReleased', `customization ${action.customization.name}: ${action.why}`)]
    case 'LetClusterGo':
      return [say('normal', 'ClusterGone', `cluster ${action.cluster.name}: ${action.why}`)]
    case 'AssignClaim':
      return [say('normal', 'ClaimAssigned', `claim ${action.claim.name} has cluster ${action.cluster.name}`)]
    case 'ClearClaim':
      return [say('warning', 'ClaimConflict', `claim ${action.claim.name} waits again: ${action.why}`)]
    default:
      return []
  }
}

/** Statuses of an entry that somebody should look at. Seed: "we log an error, along with status Missing". */
const TROUBLES: ReadonlySet<InventoryEntry['status']> = new Set(['Missing', 'BrokenByConfiguration', 'BrokenByCloud'])

const troubles = (
  before: ClusterPoolStatus['inventory'] = {},
  after: ClusterPoolStatus['inventory'] = {},
): readonly News[] =>
  Object.entries(after).flatMap(([name, { status, message = '' }]): readonly News[] => {
    const isNew = before[name]?.status !== status || before[name]?.message !== message
    if (!isNew || !TROUBLES.has(status)) return []
    return [{ type: 'warning', reason: `Customization${status}`, message: `customization ${name}: ${message}` }]
  })
