import Type, { type TObject } from 'typebox'
import type { Tenancy } from '../../auth/tenancy.ts'
import type { Entity } from '../../model/entity.ts'
import { type Address, readDocument } from '../../storage/resources.ts'
import type { Operation } from '../operation.ts'
import type { Service } from '../service.ts'

/**
 * Where a kind is served: flat, below its parent, and where its href says.
 *
 *   /builds                                             every kind
 *   /versions/{parent_id}/builds                        a child
 *   /channels/{channels_id}/versions/{parent_id}/builds a grandchild, and so on
 */
export interface Collection {
  readonly entity: Entity
  /** Of the collection, e.g. `/clusters/{parent_id}/nodepools`. */
  readonly path: string
  readonly parameters: TObject
  /** Ends operation ids, so that those of a kind's places differ. */
  readonly suffix: string
  /** The kinds and parameters that the path has before the kind's own, the outermost first. */
  readonly ancestors: readonly Ancestor[]
}

interface Ancestor {
  readonly entity: Entity
  readonly parameter: string
}

const Id = Type.String({ minLength: 1, maxLength: 100 })

/** Every place of a kind. */
export const collectionsOf = (entity: Entity): Collection[] => {
  const line = ancestorsOf(entity)
  return [
    buildCollection(entity, []),
    ...(line.length > 0 ? [buildCollection(entity, line.slice(-1))] : []),
    ...(line.length > 1 ? [buildCollection(entity, line)] : []),
  ]
}

/** The kinds above one, the outermost first. */
const ancestorsOf = ({ parent }: Entity): Entity[] => (parent === undefined ? [] : [...ancestorsOf(parent), parent])

const buildCollection = (entity: Entity, line: readonly Entity[]): Collection => {
  const ancestors = line.map((ancestor, at) => ({
    entity: ancestor,
    parameter: at === line.length - 1 ? 'parent_id' : `${ancestor.plural.replaceAll('-', '_')}_id`,
  }))
  return {
    entity,
    path: `${ancestors.map(({ entity, parameter }) => `/${entity.plural}/{${parameter}}`).join('')}/${entity.plural}`,
    parameters: Type.Object(Object.fromEntries(ancestors.map(({ parameter }) => [parameter, Id]))),
    suffix: [entity, ...line.toReversed()].map(({ kind }) => kind).join('In'),
    ancestors,
  }
}

/** The path and parameters of one resource of a place. */
export const itemOf = ({ path, parameters }: Collection) => ({
  path: `${path}/{id}`,
  parameters: Type.Object({ ...parameters.properties, id: Id }),
})

/** What a request says about where it points. */
interface RequestTarget {
  readonly parameters: unknown
  readonly tenancy: Tenancy | undefined
}

/** Reads where a request points, among the resources that its caller sees. */
export const readAddress = ({ entity }: Collection, { parameters, tenancy }: RequestTarget): Address => {
  const { id } = parameters as { id: string }
  const ownerId = readOwnerId(parameters)
  return { entity, id, tenancy, ...(ownerId !== undefined && { ownerId }) }
}

/** The parent that a path names. */
export const readOwnerId = (parameters: unknown): string | undefined => (parameters as { parent_id?: string }).parent_id

/** The operation at a place whose path names more than a parent: each of those above must belong to the next. */
export const withAncestorCheck = (service: Service, { ancestors }: Collection, operation: Operation): Operation =>
  ancestors.length < 2
    ? operation
    : {
        ...operation,
        handle: async (call) => {
          await checkAncestors(service, ancestors, call)
          return operation.handle(call)
        },
      }

/** @throws Problem notFound */
const checkAncestors = async (
  { database }: Service,
  ancestors: readonly Ancestor[],
  { parameters, tenancy }: RequestTarget,
): Promise<void> => {
  const ids = parameters as Readonly<Record<string, string>>
  let ownerId: string | undefined
  for (const { entity, parameter } of ancestors) {
    const id = ids[parameter] ?? ''
    await readDocument(database.kysely, { entity, id, tenancy, ...(ownerId !== undefined && { ownerId }) })
    ownerId = id
  }
}
