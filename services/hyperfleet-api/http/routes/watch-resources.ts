import type { Static } from 'typebox'
import { readFloorFor } from '../../feed/history.ts'
import { type EndReason, watch } from '../../feed/watch.ts'
import { formatMessage } from '../../feed/watch-message.ts'
import { parseFields } from '../../model/projection.ts'
import { Problem } from '../../problems/problem.ts'
import { readSelector } from '../list-parameters.ts'
import type { OperationResponse } from '../operation.ts'
import type { ListQuery } from '../schemas/list.ts'
import type { Service } from '../service.ts'
import { TOKEN_EXPIRED } from '../token-lifetime.ts'
import type { CollectionScope } from './list-resources.ts'

/** A stream of what changes, from a page or from where a reader was. @throws Problem */
export const watchResources = async (
  { database, feed, room, live, versions, stopping }: Service,
  scope: CollectionScope & { readonly kind: string },
  query: Static<typeof ListQuery>,
  lastEventId: string | string[] | undefined,
  signal: AbortSignal,
): Promise<OperationResponse> => {
  const unsupported = (['search', 'order', 'after', 'ref_type', 'ref_target_id'] as const).find(
    (name) => query[name] !== undefined,
  )
  if (unsupported !== undefined) throw new Problem('badRequest', `a watch takes labels and fields, not ${unsupported}`)
  const subscription = {
    ...scope,
    selector: readSelector(query.labels),
    fields: query.fields,
    projection: parseFields(query.fields),
    position: (version: number) => versions.seal(version, scope.tenancy),
  }
  const { resourceVersion } = query
  const asked = resourceVersion ?? (typeof lastEventId === 'string' ? lastEventId : undefined)
  const from = asked === undefined ? undefined : versions.open(asked, scope.tenancy)
  // The first bookmark then covers whatever was answered before, by this replica or by one that is a moment ahead.
  await feed.catchUp()
  const isUnknown =
    from === undefined
      ? resourceVersion !== undefined
      : from > feed.head || from < (await readFloorFor(database.kysely, from))
  if (isUnknown)
    throw new Problem(
      'expired',
      `resourceVersion ${asked} is not (or no longer) known here: list again and watch from there`,
    )
  signal.throwIfAborted()
  return {
    status: 200,
    mediaType: 'text/event-stream',
    stream: async (sink) => {
      const reason =
        (await watch({ database, feed, room, live }, subscription, from, sink)) ?? findEndReason(stopping, signal)
      if (reason !== undefined) sink.write(formatMessage('end', undefined, JSON.stringify({ reason })))
    },
  }
}

/** Why a stream that its watch did not end is over; undefined when its reader is gone. */
const findEndReason = (stopping: AbortSignal, signal: AbortSignal): EndReason | undefined => {
  if (stopping.aborted) return 'ServerStopping'
  return signal.reason === TOKEN_EXPIRED ? 'TokenExpired' : undefined
}
