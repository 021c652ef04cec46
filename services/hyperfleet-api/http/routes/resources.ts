import type { IncomingHttpHeaders } from 'node:http'
import Type from 'typebox'
import { projectDocument } from '../../feed/watch-message.ts'
import { parseFields } from '../../model/projection.ts'
import type { Resource } from '../../model/resource.ts'
import type { Precondition } from '../../mutations/context.ts'
import { createResource } from '../../mutations/create.ts'
import { deleteResource } from '../../mutations/delete.ts'
import { patchResource } from '../../mutations/patch.ts'
import { previewDeletion } from '../../mutations/preview-deletion.ts'
import { Problem } from '../../problems/problem.ts'
import { readDocument } from '../../storage/resources.ts'
import { type Operation, type OperationResponse, operation } from '../operation.ts'
import { entityTag, readPreconditions, readWritePreconditions } from '../preconditions.ts'
import { DeleteQuery } from '../schemas/explanation.ts'
import { FieldsQuery, ListQuery, listOf } from '../schemas/list.ts'
import { ResourceDraft, ResourcePatch } from '../schemas/resource.ts'
import type { Service } from '../service.ts'
import { type Collection, itemOf, readAddress, readOwnerId } from './collection.ts'
import { listResources } from './list-resources.ts'
import { watchResources } from './watch-resources.ts'

/** List, watch, create, get, patch and delete, the same for every kind. */
export const resourceOperations = (service: Service, place: Collection): Operation[] => [
  listOperation(service, place),
  createOperation(service, place),
  getOperation(service, place),
  patchOperation(service, place),
  deleteOperation(service, place),
]

/** Described, and not declared as a parameter of the header: generated clients keep the signatures that they have. */
const CONDITIONAL =
  'With `If-Match: <ETag>` it is done only while the resource is in the state that the tag names, else the answer is 412; with `If-None-Match` the other way round (RFC 9110).'
const RESOURCE = {
  schema: Type.Ref('Resource'),
  headers: { ETag: 'Names the state of the resource, for If-Match and If-None-Match' },
}

const listOperation = (service: Service, { entity, path, parameters, suffix }: Collection): Operation =>
  operation({
    method: 'GET',
    path,
    id: `list${suffix}`,
    summary: `Lists or watches ${entity.plural}`,
    tag: entity.kind,
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
    handle: async (call) => {
      const { parameters, query, headers, tenancy, signal } = call
      const ownerId = readOwnerId(parameters)
      if (ownerId !== undefined && entity.parent !== undefined)
        await readDocument(service.database.kysely, { entity: entity.parent, id: ownerId, tenancy })
      const scope = { kind: entity.kind, tenancy, ...(ownerId !== undefined && { ownerId }) }
      return query.watch === true
        ? watchResources(service, scope, query, headers['last-event-id'], signal)
        : listResources(service, scope, query, call)
    },
  })

const createOperation = (service: Service, { entity, path, parameters, suffix }: Collection): Operation =>
  operation({
    method: 'POST',
    path,
    id: `create${suffix}`,
    summary: `Creates a ${entity.kind}`,
    tag: entity.kind,
    role: 'editor',
    tenants: true,
    parameters,
    body: ResourceDraft,
    responses: {
      201: { description: 'The new resource', ...RESOURCE },
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
  })

const getOperation = (service: Service, place: Collection): Operation =>
  operation({
    method: 'GET',
    ...itemOf(place),
    id: `get${place.suffix}`,
    summary: `Reads a ${place.entity.kind}`,
    tag: place.entity.kind,
    role: 'reader',
    tenants: true,
    query: FieldsQuery,
    conditional: true,
    responses: {
      200: { description: 'The resource', ...RESOURCE },
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
  })

const patchOperation = (service: Service, place: Collection): Operation =>
  operation({
    method: 'PATCH',
    ...itemOf(place),
    id: `patch${place.suffix}`,
    summary: `Replaces spec, labels, references or several of them of a ${place.entity.kind}`,
    tag: place.entity.kind,
    role: 'editor',
    tenants: true,
    body: ResourcePatch,
    description: CONDITIONAL,
    conditional: true,
    responses: {
      200: { description: 'The resource', ...RESOURCE },
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
  })

const deleteOperation = (service: Service, place: Collection): Operation =>
  operation({
    method: 'DELETE',
    ...itemOf(place),
    id: `delete${place.suffix}`,
    summary: `Asks for the deletion of a ${place.entity.kind} and everything below it`,
    tag: place.entity.kind,
    role: 'editor',
    tenants: true,
    query: DeleteQuery,
    description: CONDITIONAL,
    conditional: true,
    responses: {
      200: { description: 'With dry_run: what it would do', schema: Type.Ref('DeletionPreview') },
      202: { description: 'Marked; it goes when its adapters have cleaned up', ...RESOURCE },
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
  })

const answerTagged = (status: number, body: Resource): OperationResponse => ({
  status,
  headers: { ETag: entityTag(JSON.stringify(body)) },
  body,
})

const readPrecondition = (headers: IncomingHttpHeaders): Precondition<Resource> => {
  const check = readWritePreconditions(headers)
  return (stored) => check(entityTag(JSON.stringify(stored)))
}
