/**
 * Revisions of a Deployment: every workload that it had, counted from 1. Going back makes a new revision with the workload of an
 * old one, so that numbers only grow and it is plain which of two came later. FLEET-40, FLEET-49. Pure.
 */

import { digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'

export interface Revision {
  readonly revision: number
  /** metadata.generation of the Deployment when it was made. */
  readonly generation: number
  /** Of the workload: equal ones need no change on a device. */
  readonly digest: string
  readonly score: Score
  /**
   * It brings an older workload back, instead of the one with this digest, which is not rolled out again while the spec asks for
   * it. Kept with the revision, so that there is no moment in which one is stored and the other is not.
   */
  readonly refused?: string
}

/** The one with the highest number; undefined when there is none. */
export const newestRevision = (history: readonly Revision[]): Revision | undefined =>
  history.toSorted((a, b) => b.revision - a.revision)[0]

/**
 * The revision that a spec asks for: the newest one, or a new one that must be stored before anything of it is rolled out.
 * Every replica finds the same. @param refused The digest of the workload that was taken back, from the status.
 * @param overruled Numbers up to this one were given away by a history that was lost: what follows is above it.
 */
export const findOrBuildRevision = (
  history: readonly Revision[],
  spec: { readonly generation: number; readonly score: Score },
  refused: string | undefined,
  overruled = 0,
): { readonly revision: Revision; readonly isNew: boolean } => {
  const digest = digestOf(spec.score)
  const last = newestRevision(history)
  const revision = Math.max(last?.revision ?? 0, overruled) + 1
  if (last !== undefined && (last.digest === digest || refused === digest))
    return last.revision > overruled
      ? { revision: last, isNew: false }
      : { revision: { ...last, revision, generation: spec.generation }, isNew: true }
  return { revision: { revision, digest, ...spec }, isNew: true }
}

/** What takes the newest revision back; undefined when there is nothing to go back to. */
export interface Restoration {
  readonly revision: Revision
  /** The workload that is not to be rolled out again while the spec asks for it. */
  readonly refused: string
}

/** @param to The revision whose workload comes back. @param generation The present one of the Deployment. */
export const buildRestoration = (
  history: readonly Revision[],
  to: number | undefined,
  generation: number,
): Restoration | undefined => {
  const last = newestRevision(history)
  const old = history.find(({ revision }) => revision === to)
  if (last === undefined || old === undefined || old.digest === last.digest) return undefined
  const { digest: refused } = last
  return { revision: { ...old, revision: last.revision + 1, generation, refused }, refused }
}

/** The revisions that stay: the newest, so many before it, and those that devices still have. */
export const selectKeptRevisions = (
  history: readonly Revision[],
  limit: number,
  inUse: ReadonlySet<number>,
): readonly Revision[] =>
  history
    .toSorted((a, b) => b.revision - a.revision)
    .filter(({ revision }, position) => position <= limit || inUse.has(revision))
