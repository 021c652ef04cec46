import type { IncomingHttpHeaders } from 'node:http'
import type { Static } from 'typebox'
import Type from 'typebox'
import type { Tenancy } from '../../auth/tenancy.ts'
import { readFloorFor } from '../../feed/history.ts'
import { type EndReason, type Sink, watch } from '../../feed/watch.ts'
import { formatMessage, projectDocument } from '../../feed/watch-message.ts'
import { type Projection, parseFields } from '../../model/projection.ts'
import type { Resource } from '../../model/resource.ts'
import type { Precondition } from '../../mutations/context.ts'
import { createResource } from '../../mutations/create.ts'
import { deleteResource } from '../../mutations/delete.ts'
import { patchResource } from '../../mutations/patch.ts'
import { previewDeletion } from '../../mutations/preview-deletion.ts'
import { Problem } from '../../problems/problem.ts'
import { parseSearch } from '../../search/parse-search.ts'
import { isCostly } from '../../search/turns.ts'
import type { Filter } from '../../storage/compile-filter.ts'
import type { Database } from '../../storage/database.ts'
import type { Kinds } from '../../storage/kinds.ts'
import { listPage, type Order } from '../../storage/list.ts'
import { readPageText, totalOf } from '../../storage/page-text.ts'
import { type InTurn, readDocuments, readPortions } from '../../storage/portions.ts'
import { readDocument } from '../../storage/resources.ts'
import type { Room } from '../../storage/room.ts'
import { readOrder, readPageStart, readReference, readSelector } from '../list-parameters.ts'
import { answerPage, answerText, writeItems } from '../list-response.ts'
import { type Call, type Operation, type OperationResponse, operation } from '../operation.ts'
import { entityTag, readPreconditions, readWritePreconditions } from '../preconditions.ts'
import { DeleteQuery } from '../schemas/explanation.ts'
import { DEFAULT_PAGE_SIZE, FieldsQuery, ListQuery, listOf } from '../schemas/list.ts'
import { ResourceDraft, ResourcePatch } from '../schemas/resource.ts'
import type { Service } from '../service.ts'
import { TOKEN_EXPIRED } from '../token-lifetime.ts'
import { type Collection, itemOf, readAddress, readOwnerId } from './collection.ts'

/** List, watch, create, get, patch and delete, the same for every kind. */
export const resourceOperations = (service: Service, place: Collection): Operation[] => {
  const { entity, path, parameters, suffix } = place
  const item = itemOf(place)
  const tag = entity.kind
  const one = { schema: Type.Ref('Resource') }
  return [
    operation({
      method: 'GET',
      path,
      id: `list${suffix}`,
      summary: `Lists or watches ${entity.plural}`,
      tag,
      role: 'reader',
      tenants: true,
      lasts: true,
      parameters,
      query: ListQuery,
      responses: {
        200: {
          description: 'A page, or with watch=true a stream of added, modified, deleted, bookmark and end messages',
          schema: listOf('Resource'),
          headers: { 'Muster-Resource-Version': 'Where a watch that misses nothing after this page begins' },
        },
        410: { description: 'The resourceVersion to watch from is forgotten: list again' },
      },
      handle: async ({ parameters, query, headers, tenancy, caller, signal }) => {
        const ownerId = readOwnerId(parameters)
        if (ownerId !== undefined && entity.parent !== undefined)
          await readDocument(service.database.kysely, { entity: entity.parent, id: ownerId, tenancy })
        const scope = { kind: entity.kind, tenancy, ...(ownerId !== undefined && { ownerId }) }
        return query.watch === true
          ? startWatch(service, scope, query, headers['last-event-id'], signal)
          : listResources(service, scope, query, { caller, signal })
      },
    }),
    operation({
      method: 'POST',
      path,
      id: `create${suffix}`,
      summary: `Creates a ${entity.kind}`,
      tag,
      role: 'editor',
      tenants: true,
      parameters,
      body: ResourceDraft,
      responses: {
        201: { description: 'The new resource', ...one, headers: TAGGED },
        409: { description: 'The name is taken' },
      },
      handle: async ({ parameters, body, identity, tenancy, time }) => {
        const ownerId = readOwnerId(parameters)
        if (entity.parent !== undefined && ownerId === undefined)
          throw new Problem(
            'childKind',
            `a ${entity.kind} belongs to a ${entity.parent.kind}: POST /${entity.parent.plural}/{id}/${entity.plural}`,
          )
        return answerTagged(201, await createResource(service, entity, ownerId, body, { identity, tenancy, time }))
      },
    }),
    operation({
      method: 'GET',
      ...item,
      id: `get${suffix}`,
      summary: `Reads a ${entity.kind}`,
      tag,
      role: 'reader',
      tenants: true,
      query: FieldsQuery,
      conditional: true,
      responses: {
        200: { description: 'The resource', ...one, headers: TAGGED },
        304: { description: 'It is in the state that If-None-Match names' },
        412: { description: 'It is not in the state that If-Match names' },
      },
      handle: async (call) => {
        const projection = parseFields(call.query.fields)
        const preconditions = readPreconditions(call.headers)
        const document = await readDocument(service.database.kysely, readAddress(place, call))
        const tag = entityTag(document)
        preconditions.check(tag)
        const known = preconditions.knownTag(tag)
        return known === undefined
          ? { status: 200, headers: { ETag: tag }, json: projectDocument(document, projection) }
          : { status: 304, headers: { ETag: known } }
      },
    }),
    operation({
      method: 'PATCH',
      ...item,
      id: `patch${suffix}`,
      summary: `Replaces spec, labels, references or several of them of a ${entity.kind}`,
      tag,
      role: 'editor',
      tenants: true,
      body: ResourcePatch,
      description: CONDITIONAL,
      conditional: true,
      responses: {
        200: { description: 'The resource', ...one, headers: TAGGED },
        409: { description: 'It is being deleted' },
        412: { description: 'It is not in the state that If-Match names' },
      },
      handle: async (call) => {
        const { body } = call
        if (body.spec === undefined && body.labels == null && body.references == null)
          throw new Problem('badRequest', 'the patch changes nothing: give spec, labels, references or several of them')
        const precondition = readPrecondition(call.headers)
        return answerTagged(200, await patchResource(service, readAddress(place, call), body, call, precondition))
      },
    }),
    operation({
      method: 'DELETE',
      ...item,
      id: `delete${suffix}`,
      summary: `Asks for the deletion of a ${entity.kind} and everything below it`,
      tag,
      role: 'editor',
      tenants: true,
      query: DeleteQuery,
      description: CONDITIONAL,
      conditional: true,
      responses: {
        200: { description: 'With dry_run: what it would do', schema: Type.Ref('DeletionPreview') },
        202: { description: 'Marked; it goes when its adapters have cleaned up', ...one, headers: TAGGED },
        412: { description: 'It is not in the state that If-Match names' },
      },
      handle: async (call) => {
        const address = readAddress(place, call)
        const precondition = readPrecondition(call.headers)
        await service.queue.recordProgress()
        return call.query.dry_run === true
          ? { status: 200, body: await previewDeletion(service.database, address, call.time, precondition) }
          : answerTagged(202, await deleteResource(service, address, call, precondition))
      },
    }),
  ]
}

/** Said, and not declared as a parameter of the header: generated clients keep the signatures that they have. */
const CONDITIONAL =
  'With `If-Match: <ETag>` it is done only while the resource is in the state that the tag names, else the answer is 412; with `If-None-Match` the other way round (RFC 9110).'
const TAGGED = { ETag: 'Names the state of the resource, for If-Match and If-None-Match' }

const answerTagged = (status: number, body: Resource): OperationResponse => ({
  status,
  headers: { ETag: entityTag(JSON.stringify(body)) },
  body,
})

const readPrecondition = (headers: IncomingHttpHeaders): Precondition<Resource> => {
  const check = readWritePreconditions(headers)
  return (stored) => check(entityTag(JSON.stringify(stored)))
}

type ListParameters = Static<typeof ListQuery>

/** The collection that a list or a watch is about, as its caller sees it. */
interface CollectionScope {
  readonly kind: Kinds
  readonly ownerId?: string
  readonly tenancy: Tenancy | undefined
}

/** A page of a list. @throws Problem */
export const listResources = async (
  service: Service,
  scope: CollectionScope,
  query: ListParameters,
  { caller, signal }: Pick<Call<unknown, unknown, unknown>, 'caller' | 'signal'>,
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
  const inTurn = <T>(work: () => Promise<T>, isUnderWay = false): Promise<T> =>
    isShared ? service.searchTurns.run({ caller, signal, isUnderWay }, work) : work()
  // The version is read first: a watch from it may repeat what this page shows, but misses nothing.
  const version = service.feed.head
  const order = readOrder(query.order)
  if (isWhole(query))
    return {
      status: 200,
      headers: { 'Muster-Resource-Version': String(version) },
      mediaType: 'application/json',
      stream: (sink) =>
        writeWhole(database, { filter, order }, { room, projection, sink, inTurn: (work) => inTurn(work, true) }),
    }
  const place = { filter, order, size, from: readPageStart(query, size) }
  const headers = { 'Muster-Resource-Version': String(version) }
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
    readLong: (ids) => readDocuments(database, filter, ids),
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
      readPortions(database, list, (bytes) => room.take(bytes, sink.signal), inTurn),
      projection,
    ),
    sink,
    (count) => `],"page":1,"size":${count},"total":${count}}`,
  )

async function* projectPortions(portions: AsyncIterable<readonly string[]>, projection: Projection | undefined) {
  for await (const documents of portions) yield documents.map((document) => projectDocument(document, projection))
}

const startWatch = async (
  { database, feed, room, stopping }: Service,
  scope: CollectionScope & { readonly kind: string },
  query: ListParameters,
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
  }
  const from = query.resourceVersion ?? parsePosition(lastEventId)
  // The first bookmark then covers whatever was answered before, by this replica or by one that is a moment ahead.
  await feed.catchUp()
  if (from !== undefined && (from > feed.head || from < (await readFloorFor(database.kysely, from))))
    throw new Problem(
      'expired',
      `resourceVersion ${from} is not (or no longer) known here: list again and watch from there`,
    )
  signal.throwIfAborted()
  return {
    status: 200,
    mediaType: 'text/event-stream',
    stream: async (sink) => {
      const reason =
        (await watch({ database, feed, room }, subscription, from, sink)) ?? findEndReason(stopping, signal)
      if (reason !== undefined) sink.write(formatMessage('end', undefined, JSON.stringify({ reason })))
    },
  }
}

/** Why a stream that its watch did not end is over; undefined when its reader is gone. */
const findEndReason = (stopping: AbortSignal, signal: AbortSignal): EndReason | undefined => {
  if (stopping.aborted) return 'ServerStopping'
  return signal.reason === TOKEN_EXPIRED ? 'TokenExpired' : undefined
}

const parsePosition = (lastEventId: string | string[] | undefined): number | undefined =>
  typeof lastEventId === 'string' && /^\d{1,16}$/.test(lastEventId) ? Number(lastEventId) : undefined
