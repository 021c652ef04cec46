import Type, { type Static } from 'typebox'
import { checkLabels } from '../../model/check-names.ts'
import type { Entity } from '../../model/entity.ts'
import { Problem } from '../../problems/problem.ts'
import { readKind } from '../../storage/resources.ts'
import { type Operation, operation } from '../operation.ts'
import { ListQuery } from '../schemas/list.ts'
import { AnyResourceDraft } from '../schemas/resource.ts'
import type { Service } from '../service.ts'
import { type Collection, collectionsOf } from './collection.ts'
import { listResources } from './list-resources.ts'

/** Stands for a kind that is only known when a request comes. */
const ANY_KIND: Entity = {
  kind: 'Resource',
  plural: 'resources',
  parent: undefined,
  children: [],
  onParentDelete: 'restrict',
  requiredAdapters: [],
  nameLength: { min: 1, max: 100 },
  specSchema: undefined,
  references: [],
  conditions: [],
}

const ANY_KIND_COLLECTION: Collection = {
  entity: ANY_KIND,
  path: '/resources',
  parameters: Type.Object({}),
  suffix: 'AnyKind',
  ancestors: [],
}

/**
 * `/resources`: what every kind has, for callers that have an id and not its kind. Each operation is the one that the
 * resource's own kind has at its flat path; this only finds out which kind that is.
 * @param operationsAt What is served at a place.
 */
export const anyKindOperations = (
  service: Service,
  operationsAt: (place: Collection) => readonly Operation[],
): Operation[] => {
  const byKind = new Map(
    service.entities.all.flatMap((entity) => {
      const [flat] = collectionsOf(entity)
      return flat === undefined ? [] : [[entity.kind, byRelativePath(flat, operationsAt(flat))] as const]
    }),
  )
  const of = (kind: string, shape: string): Operation => {
    const found = byKind.get(kind)?.get(shape)
    if (found === undefined) throw unknownKind(kind, service)
    return found
  }
  return [...byRelativePath(ANY_KIND_COLLECTION, operationsAt(ANY_KIND_COLLECTION))].map(([shape, any]) => {
    if (shape === 'GET ') return listOperation(any, (kind) => of(kind, shape), service)
    if (shape === 'POST ') return createOperation(any, (kind) => of(kind, shape), service)
    return {
      ...any,
      handle: async (call) => {
        const { id } = call.parameters as { id: string }
        const kind = await readKind(service.database.kysely, { id, tenancy: call.tenancy })
        return of(kind, shape).handle(call)
      },
    }
  })
}

/** Operations by their method and what their path has after the place's, which is the same for every kind. */
const byRelativePath = ({ path }: Collection, operations: readonly Operation[]): ReadonlyMap<string, Operation> =>
  new Map(operations.map((operation) => [`${operation.method} ${operation.path.slice(path.length)}`, operation]))

const createOperation = (any: Operation, of: (kind: string) => Operation, { entities }: Service): Operation =>
  operation({
    ...any,
    body: AnyResourceDraft,
    handle: async (call) => {
      const { kind, labels } = call.body as Static<typeof AnyResourceDraft>
      const errors = checkLabels(labels ?? {})
      const [first] = errors
      if (first !== undefined) throw new Problem('invalid', `${first.field} ${first.message}`, errors)
      if (entities.byKind(kind) === undefined) throw unknownKind(kind, { entities })
      return of(kind).handle(call)
    },
  })

const AnyQuery = Type.Object({
  ...ListQuery.properties,
  kind: Type.Optional(Type.String({ maxLength: 100, description: 'Only resources of this kind.' })),
})

const listOperation = (any: Operation, of: (kind: string) => Operation, service: Service): Operation =>
  operation({
    ...any,
    query: AnyQuery,
    handle: async (call) => {
      const { kind, ...query } = call.query as Static<typeof AnyQuery>
      if (kind !== undefined) return of(kind).handle({ ...call, query })
      if (query.watch === true) throw new Problem('badRequest', 'a watch is of one kind: name it by kind')
      const kinds = service.entities.all.map(({ kind }) => kind)
      return listResources(service, { kind: kinds, tenancy: call.tenancy }, query, call)
    },
  })

const unknownKind = (kind: string, { entities }: Pick<Service, 'entities'>): Problem =>
  new Problem('invalid', `Unknown entity kind: ${kind}`, [
    { field: 'kind', message: `must be one of ${entities.all.map(({ kind }) => kind).join(', ')}` },
  ])
