/** Tells each SentinelConfig whether its shard overlaps another one's, and one of them whether resources are left out. */
import type { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { Context } from '#operator/engine/context.ts'
import type { Index } from '#operator/engine/indexes.ts'
import type { Clock } from '#operator/model/clock.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { findGap, type Gap, NO_GAP } from './gap.ts'
import type { PulseLoop } from './loop.ts'
import type { Metrics } from './metrics.ts'
import { type Claimant, claimantOf, claimantsOf, isCoveredForSure, overlapOf, reportsGap } from './ownership.ts'
import type { Listing } from './source/pages.ts'

export interface ClaimDeps {
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

/** Checks one SentinelConfig and tells its loop. Nothing happens where another replica runs it, or its spec can't be run. */
export type ClaimCheck = (
  config: SentinelConfig,
  context: Pick<Context<SentinelConfig>, 'signal' | 'log'>,
) => Promise<void>

export const claimCheck = ({ loops, siblings, metrics, clock }: ClaimDeps): ClaimCheck => {
  const looked = new Map<string, Looked>()

  const gapOf = async (listing: Listing | undefined, claimants: readonly Claimant[], signal: AbortSignal) => {
    if (isCoveredForSure(claimants)) return NO_GAP
    if (listing === undefined) return undefined
    const { resourceType } = listing
    const now = clock.now().getTime()
    const claims = JSON.stringify(claimants)
    const before = looked.get(resourceType)
    if (before?.claims === claims && now >= before.at && now - before.at < GAP_EVERY) return before.gap
    const gap = await findGap(listing, claimants, signal)
    looked.set(resourceType, { at: now, claims, gap })
    return gap
  }

  return async (config, { signal, log }) => {
    const loop = loops.get(config.metadata.uid)
    const claimant = claimantOf(config)
    if (loop === undefined || claimant === undefined) return
    const { resourceType } = config.spec
    const others = claimantsOf(siblings.get(resourceType), config)
    let gap: Gap | undefined
    try {
      if (reportsGap(claimant, others)) gap = await gapOf(loop.listing, [claimant, ...others], signal)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof HyperFleetError)) throw error
      log.debug('resources without an owner could not be looked for', { problem: error.message })
    }
    if (gap !== undefined) metrics.unownedResources.set({ resource_type: resourceType }, gap.unowned)
    loop.found({ overlap: overlapOf(claimant, others), gap })
  }
}
