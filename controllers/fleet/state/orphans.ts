/**
 * Which keys of fleet-desired are collected when the operator has converged: those that were there when it started and that
 * nothing wants. The brake is for lists that are empty by mistake: a wrong namespace, missing rights, a restored cluster.
 * FLEET-3, FLEET-4, FLEET-5. Pure.
 */
import { createHash } from 'node:crypto'
import type { Placement } from '#apis/fleet.nationtech.io/kv/keys.ts'

export interface Orphan {
  readonly key: string
  readonly placement: Placement
  /** Of the key: it is deleted only while it still has this one. */
  readonly revision: number
  readonly reason: 'DeploymentGone' | 'DeviceGone' | 'NotMatched'
}

/** So many are always collected. */
const MAX_UNASKED_KEYS = 5
/** Of a hundred keys. */
const MAX_UNASKED_PERCENT = 20

/** Where a person releases the brake: its value is the release that the message names. */
export const RELEASE_ANNOTATION = 'fleet.nationtech.io/release-orphans'

export type OrphanVerdict =
  | { readonly verdict: 'None' }
  /** To be deleted one by one, each after its Deployment and its Device were read again. */
  | { readonly verdict: 'Collect'; readonly orphans: readonly Orphan[] }
  | { readonly verdict: 'Braked'; readonly count: number; readonly release: string; readonly message: string }

/** Names one set of orphans, so that what a person releases is what that person saw. */
const digestOrphans = (orphans: readonly Orphan[]): string =>
  createHash('sha256')
    .update(
      orphans
        .map(({ key, revision }) => `${key}@${revision}`)
        .toSorted()
        .join('\n'),
    )
    .digest('hex')
    .slice(0, 12)

/**
 * @param seeded How many keys were there at the start.
 * @param annotation The value of `RELEASE_ANNOTATION`, if it is set.
 */
export const decideOrphans = (
  orphans: readonly Orphan[],
  seeded: number,
  annotation: string | undefined,
): OrphanVerdict => {
  if (orphans.length === 0) return { verdict: 'None' }
  const most = Math.max(MAX_UNASKED_KEYS, Math.floor((seeded * MAX_UNASKED_PERCENT) / 100))
  const release = digestOrphans(orphans)
  if (orphans.length <= most || annotation === release) return { verdict: 'Collect', orphans }
  const message =
    `nothing wants ${orphans.length} of ${seeded} keys any more, and at most ${most} are deleted unasked: ` +
    `check that Deployments and Devices are all there, then set the annotation ${RELEASE_ANNOTATION}=${release}`
  return { verdict: 'Braked', count: orphans.length, release, message }
}
