/** Tells each SentinelConfig whether its shard overlaps another one's, and one of them whether resources are left out. */
import type { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { Context } from '#operator/engine/context.ts'
import type { Index } from '#operator/engine/indexes.ts'
import type { Clock } from '#operator/model/clock.ts'
import { Failure } from './failure.ts'
import { findGap, type Gap } from './gap.ts'
import type { PulseLoop } from './loop.ts'
import type { Metrics } from './metrics.ts'
import { type Claimant, claimantOf, claimantsOf, isCoveredForSure, overlapOf, reportsGap } from './ownership.ts'

export interface OwnershipDeps {
  readonly loops: ReadonlyMap<string, PulseLoop>
  readonly siblings: Index<string, SentinelConfig>
  readonly metrics: Metrics
  readonly clock: Clock
}

/** How often all resources are read to find those without an owner, in milliseconds, while no SentinelConfig changes. */
const GAP_EVERY = 600_000

interface Looked {
  readonly at: number
  /** The claims that were looked at, as text. */
  readonly claims: string
  readonly gap: Gap
}

export const reportOwnership = ({ loops, siblings, metrics, clock }: OwnershipDeps) => {
  const looked = new Map<string, Looked>()

  const gapOf = async (loop: PulseLoop, claimants: readonly Claimant[], resourceType: string, signal: AbortSignal) => {
    if (isCoveredForSure(claimants)) return { unowned: 0, problem: undefined }
    const now = clock.now().getTime()
    const claims = JSON.stringify(claimants)
    const before = looked.get(resourceType)
    if (before?.claims === claims && now >= before.at && now - before.at < GAP_EVERY) return before.gap
    if (loop.listing === undefined) return before?.gap
    const gap = await findGap(loop.listing, claimants, signal)
    looked.set(resourceType, { at: now, claims, gap })
    return gap
  }

  return async ({ object, signal, log }: Context<SentinelConfig>): Promise<void> => {
    const loop = loops.get(object.metadata.uid)
    const claimant = claimantOf(object)
    // Another replica holds the lease, or the spec is invalid: then there is nothing to say here.
    if (loop === undefined || claimant === undefined) return
    const { resourceType } = object.spec
    const others = claimantsOf(siblings.get(resourceType), object)
    const overlap = overlapOf(claimant, others)
    let gap: Gap | undefined
    if (reportsGap(claimant, others)) {
      try {
        gap = await gapOf(loop, [claimant, ...others], resourceType, signal)
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        log.debug('resources without an owner could not be looked for', { problem: error.message })
      }
    }
    if (gap !== undefined) metrics.unownedResources.set({ resource_type: resourceType }, gap.unowned)
    loop.found({ overlap, gap })
  }
}
