import { awaitedAdapters } from '../model/deletion-gate.ts'
import type { AdapterStatus, Resource } from '../model/resource.ts'

/** A record that is gone, as the archive tells it: `GET /archive/{plural}/{id}`. */
export interface ArchivedResource {
  /** There when it was removed by force. */
  readonly forced?: unknown
  readonly resource: Resource
  readonly statuses?: readonly AdapterStatus[]
}

/** Of the adapters that had reported, those that the API still waited for when the record went, and those that it did not. API-26. */
export const reportersWhenArchived = ({
  resource,
  statuses = [],
}: ArchivedResource): { readonly awaited: readonly string[]; readonly done: readonly string[] } => {
  const awaited = awaitedAdapters(resource, statuses, 'reporting')
  const done = statuses.map(({ adapter }) => adapter).filter((adapter) => !awaited.includes(adapter))
  return { awaited, done }
}
