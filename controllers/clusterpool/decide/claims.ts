/** Which claim gets which cluster: CLAIM-1, CLAIM-2, CLAIM-4. */

import type { Claim } from '../model/claim.ts'
import type { Cluster } from '../model/cluster.ts'
import type { Observed } from '../model/observed.ts'
import type { Action } from '../model/plan.ts'

/** One side of a link or both are still to be written: the claim's first, because its namespace decides. */
export interface Assignment {
  readonly claim: Claim
  readonly cluster: Cluster
  readonly reason: 'OldestClaim' | 'HalfDone'
}

/** A claim names a cluster that another claim has, or that is going: it waits again. */
export interface Conflict {
  readonly claim: Claim
  readonly cluster: Cluster
}

export interface ClaimPlan {
  readonly assignments: readonly Assignment[]
  readonly conflicts: readonly Conflict[]
  /** Those that have no cluster after this pass, first in the queue first. */
  readonly waiting: readonly Claim[]
}

/**
 * Repairs links of which one side was written, then gives the oldest running clusters to the oldest claims.
 * @param assignable Running unclaimed clusters, oldest first.
 */
export const planClaims = ({ claims, clusters }: Observed, assignable: readonly Cluster[]): ClaimPlan => {
  const assignments: Assignment[] = []
  const conflicts: Conflict[] = []
  const waiting: Claim[] = []
  for (const claim of claims) {
    if (claim.deleting) continue
    const link = linkOf(claim, clusters)
    switch (link.state) {
      case 'None':
        waiting.push(claim)
        break
      case 'Half':
        assignments.push({ claim, cluster: link.cluster, reason: 'HalfDone' })
        break
      case 'Conflict':
        conflicts.push({ claim, cluster: link.cluster })
        waiting.push(claim)
        break
      case 'Whole':
      case 'Gone':
        break
    }
  }
  const assigned = new Set(assignments.map(({ cluster }) => cluster))
  const clear = new Set(conflicts.map(({ claim }) => claim))
  const free = assignable.filter((cluster) => !assigned.has(cluster))
  // One that has to let go of another cluster first keeps its place in the queue for the next pass.
  for (const [index, claim] of waiting.entries()) {
    const cluster = free[index]
    if (cluster === undefined) break
    if (!clear.has(claim)) assignments.push({ claim, cluster, reason: 'OldestClaim' })
  }
  const served = new Set(assignments.map(({ claim }) => claim))
  return { assignments, conflicts, waiting: waiting.filter((claim) => !served.has(claim)) }
}

type Link =
  | { readonly state: 'None' | 'Whole' | 'Gone' }
  | { readonly state: 'Half' | 'Conflict'; readonly cluster: Cluster }

const linkOf = (claim: Claim, clusters: readonly Cluster[]): Link => {
  const isUsable = (cluster: Cluster) => !cluster.deleting && !cluster.marked
  if (claim.namespace === undefined) {
    const cluster = clusters.find((one) => one.claim === claim.name && isUsable(one))
    return cluster === undefined ? { state: 'None' } : { state: 'Half', cluster }
  }
  const cluster = clusters.find(({ namespace }) => namespace === claim.namespace)
  // It had a cluster once; the claim's own controller says that it is gone.
  if (cluster === undefined) return { state: 'Gone' }
  if (cluster.claim === claim.name) return { state: 'Whole' }
  return cluster.claim === undefined && isUsable(cluster) ? { state: 'Half', cluster } : { state: 'Conflict', cluster }
}

/** The writes that make clusters and claims each other's, or part them. */
export const claimActions = (assignments: readonly Assignment[], conflicts: readonly Conflict[]): readonly Action[] => [
  ...conflicts.map(
    ({ claim, cluster }): Action => ({
      action: 'ClearClaim',
      claim,
      cluster,
      why:
        cluster.claim === undefined
          ? `cluster ${cluster.name} is going`
          : `cluster ${cluster.name} is ${cluster.claim}'s`,
    }),
  ),
  ...assignments.map(
    ({ claim, cluster, reason }): Action => ({
      action: 'AssignClaim',
      claim,
      cluster,
      why:
        reason === 'HalfDone'
          ? 'only one of the two says so yet'
          : 'the oldest claim that waits gets the oldest cluster that runs',
    }),
  ),
]

/**
 * Tells claims that wait where they stand; those that were told already are left alone.
 * @param say The sentence for the place, counted from 1.
 */
export const queueActions = (waiting: readonly Claim[], say: (place: number) => string): readonly Action[] =>
  waiting.flatMap((claim, index): Action[] => {
    const position = index + 1
    const why = say(position)
    const { queuePosition, pending } = claim
    const isTold = queuePosition === position && pending?.reason === 'NoClusters' && pending.message === why
    return isTold && pending.status === 'True' ? [] : [{ action: 'QueueClaim', claim, position, why }]
  })
