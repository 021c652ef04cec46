import type { Static } from 'typebox'
import type { Tenancy } from '../../auth/tenancy.ts'
import type { Sink } from '../../feed/sink.ts'
import { projectDocument } from '../../feed/watch-message.ts'
import { type Projection, parseFields } from '../../model/projection.ts'
import { parseSearch } from '../../search/parse-search.ts'
import { isCostly } from '../../search/turns.ts'
import type { Filter } from '../../storage/compile-filter.ts'
import type { Database } from '../../storage/database.ts'
import type { Kinds } from '../../storage/kinds.ts'
import { listPage, type Order } from '../../storage/list.ts'
import { readPageText, totalOf } from '../../storage/page-text.ts'
import { type InTurn, readDocuments, readPortions } from '../../storage/portions.ts'
import type { Room } from '../../storage/room.ts'
import { readOrder, readPageStart, readReference, readSelector } from '../list-parameters.ts'
import { answerPage, answerText, writeItems } from '../list-response.ts'
import type { Call, OperationResponse } from '../operation.ts'
import { DEFAULT_PAGE_SIZE, type ListQuery } from '../schemas/list.ts'
import type { Service } from '../service.ts'

type ListParameters = Static<typeof ListQuery>

/** The collection that a list or a watch is about, as its caller sees it. */
export interface CollectionScope {
  readonly kind: Kinds
  readonly ownerId?: string
  readonly tenancy: Tenancy | undefined
}

/** A page of a list. @throws Problem */
export const listResources = async (
  service: Service,
  scope: CollectionScope,
  query: ListParameters,
  {
    caller,
    signal,
    giveAnswerRoomBack,
  }: Pick<Call<unknown, unknown, unknown>, 'caller' | 'signal' | 'giveAnswerRoomBack'>,
): Promise<OperationResponse> => {
  const { page = 1, size = DEFAULT_PAGE_SIZE, search } = query
  const { database, room } = service
  const projection = parseFields(query.fields)
  const filter: Filter = {
    ...scope,
    ...readReference(query),
    labels: readSelector(query.labels),
    ...(search !== undefined && search.trim() !== '' && { search: parseSearch(search) }),
  }
  const isShared = filter.search !== undefined && isCostly(filter.search)
  if (isShared) giveAnswerRoomBack()
  const inTurn = <T>(work: () => Promise<T>, isUnderWay = false): Promise<T> =>
    isShared ? service.searchTurns.run({ caller, signal, isUnderWay }, work) : work()
  // The version is read first: a watch from it may repeat what this page shows, but misses nothing.
  const version = service.feed.head
  const headers = { 'Muster-Resource-Version': service.versions.seal(version, scope.tenancy) }
  const order = readOrder(query.order)
  if (isWhole(query))
    return {
      status: 200,
      headers,
      mediaType: 'application/json',
      stream: (sink) =>
        writeWhole(database, { filter, order }, { room, projection, sink, inTurn: (work) => inTurn(work, true) }),
    }
  const place = { filter, order, size, from: readPageStart(query, size) }
  const found = await inTurn(
    async () =>
      (await readPageText(database, place, { totals: service.totals, head: version })) ??
      (await listPage(database, place, totalOf(database, filter, service.totals))),
  )
  if ('documents' in found) return answerText({ text: found, page, headers, projection })
  return answerPage({
    ...found,
    page,
    headers,
    room,
    format: (document) => projectDocument(document, projection),
    readLong: (long) => readDocuments(database, filter, long),
  })
}

/** Clients that choose by labels know no pages: without a word about them everything is answered (API-90). */
const isWhole = ({ labels, page, size, after }: ListParameters): boolean =>
  labels !== undefined && page === undefined && size === undefined && after === undefined

interface WholeListOptions {
  readonly room: Room
  readonly projection: Projection | undefined
  readonly sink: Sink
  readonly inTurn: InTurn
}

/** A list as one page, as long as it is. What it counts is known at its end. */
const writeWhole = (
  database: Database,
  list: { readonly filter: Filter; readonly order: readonly Order[] },
  { room, projection, sink, inTurn }: WholeListOptions,
): Promise<void> =>
  writeItems(
    projectPortions(
      readPortions(database, list, (bytes) => room.take(bytes, sink), inTurn),
      projection,
    ),
    sink,
    (count) => `],"page":1,"size":${count},"total":${count}}`,
  )

async function* projectPortions(portions: AsyncIterable<readonly string[]>, projection: Projection | undefined) {
  for await (const documents of portions) yield documents.map((document) => projectDocument(document, projection))
}
