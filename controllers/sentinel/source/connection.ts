/** What is open towards one API: a client, what it learned of the API, and the source that fits. */

import type { Clock } from '#operator/model/clock.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import type { SentinelSettings } from '../settings.ts'
import type { DueQuery } from './due-query.ts'
import { Dialect, type Listing } from './list-pages.ts'
import { pollSource } from './poll.ts'
import { buildSelection } from './selection.ts'
import type { Source } from './source.ts'
import { watchSource } from './watch.ts'

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
  dueQuery(since: number): DueQuery | undefined
}

/** Asks the API what it can do, and takes the watch stream where there is one. The client is closed when that fails. @throws HyperFleetError */
export const openConnection = async (
  api: HyperFleetClient,
  { resourceType, selector }: SentinelSettings,
  { clock, ...polling }: ConnectionOptions,
  signal: AbortSignal,
): Promise<Connection> => {
  try {
    const dialect = new Dialect()
    const selection = buildSelection(selector)
    const { features } = await api.list(resourceType, { labels: selection.labels, size: '1' }, signal)
    dialect.features = features
    const listing = { api, dialect, resourceType, selection }
    const source = features.has('watch') ? watchSource({ listing, clock }) : pollSource({ listing, clock, ...polling })
    return { api, listing, source }
  } catch (error) {
    await api.close()
    throw error
  }
}
