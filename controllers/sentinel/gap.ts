/** Looks for resources that no SentinelConfig selects. Reads the whole type, so it is asked rarely and only where it may matter. */
import { type Claimant, gapProblem, isOwned } from './ownership.ts'
import { MalformedResource, parseResource, type ResourceBody } from './resource.ts'
import { type Listing, pages } from './source/pages.ts'

export interface Gap {
  readonly unowned: number
  /** A sentence with an example; undefined when everything is owned. */
  readonly problem: string | undefined
}

export const NO_GAP: Gap = { unowned: 0, problem: undefined }

/** @throws HyperFleetError */
export const findGap = async (listing: Listing, claimants: readonly Claimant[], signal: AbortSignal): Promise<Gap> => {
  let unowned = 0
  let example: string | undefined
  const everything = { ...listing, selection: { labels: undefined, search: [] } }
  for await (const { items } of pages(everything, signal))
    for (const item of items) {
      const body = readable(item)
      if (body === undefined || isOwned(claimants, body)) continue
      unowned++
      example ??= body.id
    }
  return { unowned, problem: gapProblem(unowned, example, listing.resourceType) }
}

/** Malformed items are counted by the shard that they belong to. */
const readable = (item: unknown): ResourceBody | undefined => {
  try {
    return parseResource(item)
  } catch (error) {
    if (error instanceof MalformedResource) return undefined
    throw error
  }
}
