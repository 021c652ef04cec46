/** Looks for resources that no SentinelConfig selects. Reads the whole type, so it is asked rarely and only where it may matter. */

import { MalformedResource, parseResource, type ResourceBody } from '../decision/resource.ts'
import { type Listing, listPages } from '../source/list-pages.ts'
import { describeUnowned, isOwned, type Shard } from './ownership.ts'

export interface UnownedResources {
  readonly count: number
  /** A sentence with an example; undefined when everything is owned. */
  readonly problem: string | undefined
}

export const NONE_UNOWNED: UnownedResources = { count: 0, problem: undefined }

/** @throws HyperFleetError */
export const countUnowned = async (
  listing: Listing,
  claimants: readonly Shard[],
  signal: AbortSignal,
): Promise<UnownedResources> => {
  let count = 0
  let example: string | undefined
  const everything = { ...listing, selection: { labels: undefined, search: [] } }
  for await (const { items } of listPages(everything, signal))
    for (const item of items) {
      const body = parseOrSkip(item)
      if (body === undefined || isOwned(claimants, body)) continue
      count++
      example ??= body.id
    }
  return { count, problem: describeUnowned(count, example, listing.resourceType) }
}

/** Malformed items are counted by the shard that they belong to. */
const parseOrSkip = (item: unknown): ResourceBody | undefined => {
  try {
    return parseResource(item)
  } catch (error) {
    if (error instanceof MalformedResource) return undefined
    throw error
  }
}
