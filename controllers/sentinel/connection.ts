/** What is open towards one API: a client, what it learned of the API, and the source that fits. */

import type { Clock } from '#operator/model/clock.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import type { Config } from './config.ts'
import type { DueQuestion } from './source/due.ts'
import { Dialect, type Listing } from './source/pages.ts'
import { poll } from './source/poll.ts'
import { selectionOf } from './source/selection.ts'
import type { Source } from './source/source.ts'
import { watch } from './source/watch.ts'

export interface Connection {
  readonly api: HyperFleetClient
  readonly listing: Listing
  readonly source: Source
}

export interface ConnectionOptions {
  readonly clock: Clock
  /** Milliseconds; asked before every pause, because it may change. */
  pollInterval(): number
  /** What a poll asks between two sweeps; undefined when only a sweep will do. */
  question(since: number): DueQuestion | undefined
}

/** Asks the API what it can do, and takes the watch stream where there is one. The client is closed when that fails. @throws HyperFleetError */
export const openConnection = async (
  api: HyperFleetClient,
  { resourceType, selector }: Config,
  { clock, ...polling }: ConnectionOptions,
  signal: AbortSignal,
): Promise<Connection> => {
  try {
    const dialect = new Dialect()
    const selection = selectionOf(selector)
    const { features } = await api.list(resourceType, { labels: selection.labels, size: '1' }, signal)
    dialect.features = features
    const listing = { api, dialect, resourceType, selection }
    const source = features.has('watch') ? watch({ listing, clock }) : poll({ listing, clock, ...polling })
    return { api, listing, source }
  } catch (error) {
    await api.close()
    throw error
  }
}
