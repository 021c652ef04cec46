/** Tells each SentinelConfig whether its shard overlaps another one's, and one of them whether resources are left out. */
import type { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { Context } from '#operator/engine/context.ts'
import type { Index } from '#operator/engine/indexes.ts'
import type { Clock } from '#operator/model/clock.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import type { PulseLoop } from '../loop/pulse-loop.ts'
import type { Metrics } from '../metrics.ts'
import type { Listing } from '../source/list-pages.ts'
import { countsUnowned, describeOverlap, otherShards, parseShard, type Shard, selectsEverything } from './ownership.ts'
import { countUnowned, NONE_UNOWNED, type UnownedResources } from './unowned.ts'

export interface OwnershipDeps {
  readonly loops: ReadonlyMap<string, PulseLoop>
  readonly siblings: Index<string, SentinelConfig>
  readonly metrics: Metrics
  readonly clock: Clock
  /** Of the HyperFleet API, where a spec names none. */
  readonly defaultUrl: string | undefined
}

/** How often all resources are read to find those without an owner, in milliseconds, while no SentinelConfig changes. */
const UNOWNED_INTERVAL_MS = 600_000

interface PreviousCount {
  readonly at: number
  /** The claims that were looked at, as text. */
  readonly shards: string
  readonly gap: UnownedResources
}

/** Checks one SentinelConfig and tells its loop. Nothing happens where another replica runs it, or its spec can't be run. */
export type OwnershipCheck = (
  config: SentinelConfig,
  context: Pick<Context<SentinelConfig>, 'signal' | 'log'>,
) => Promise<void>

export const createOwnershipCheck = ({
  loops,
  siblings,
  metrics,
  clock,
  defaultUrl,
}: OwnershipDeps): OwnershipCheck => {
  const counted = new Map<string, PreviousCount>()

  const countUnownedAtMost = async (listing: Listing | undefined, claimants: readonly Shard[], signal: AbortSignal) => {
    if (selectsEverything(claimants)) return NONE_UNOWNED
    if (listing === undefined) return undefined
    const { resourceType } = listing
    const now = clock.now().getTime()
    const shards = JSON.stringify(claimants)
    const before = counted.get(resourceType)
    if (before?.shards === shards && now >= before.at && now - before.at < UNOWNED_INTERVAL_MS) return before.gap
    const gap = await countUnowned(listing, claimants, signal)
    counted.set(resourceType, { at: now, shards, gap })
    return gap
  }

  return async (config, { signal, log }) => {
    const loop = loops.get(config.metadata.uid)
    const claimant = parseShard(config, defaultUrl)
    if (loop === undefined || claimant === undefined) return
    const { resourceType } = config.spec
    const others = otherShards(siblings.get(resourceType), config, defaultUrl)
    let unowned: UnownedResources | undefined
    try {
      if (countsUnowned(claimant, others))
        unowned = await countUnownedAtMost(loop.listing, [claimant, ...others], signal)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof HyperFleetError)) throw error
      log.debug('resources without an owner could not be looked for, looking again in a minute', {
        problem: error.message,
      })
    }
    if (unowned !== undefined) metrics.unownedResources.set({ resource_type: resourceType }, unowned.count)
    loop.setFindings({ overlap: describeOverlap(claimant, others), unowned })
  }
}
