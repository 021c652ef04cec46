/** The kinds that the API serves. They come from configuration; nothing else in this service knows a kind's name. */

/**
 * Which adapters must report before a resource is ready: a list of names, or `reporting`: every adapter that has
 * reported about the resource, and at least one. An empty list is a kind that no adapter works on.
 */
export type RequiredAdapters = readonly string[] | 'reporting'

/** A kind as the configuration file writes it (`entities`, the peer's field names). */
export interface EntityConfig {
  /** UpperCamelCase, e.g. `Cluster`. */
  readonly kind: string
  /** The path segment, e.g. `clusters`. */
  readonly plural: string
  readonly parent_kind?: string
  /** What deleting the parent does to living children: delete them too, or refuse. Default cascade. */
  readonly on_parent_delete?: 'cascade' | 'restrict'
  /** Default `[]`. */
  readonly required_adapters?: RequiredAdapters
  /** Default 1. */
  readonly name_min_len?: number
  /** Default 100. */
  readonly name_max_len?: number
}

/** A kind with its defaults filled in and its family known. */
export interface Entity {
  readonly kind: string
  readonly plural: string
  readonly parent: Entity | undefined
  readonly children: readonly Entity[]
  readonly onParentDelete: 'cascade' | 'restrict'
  readonly requiredAdapters: RequiredAdapters
  readonly nameLength: { readonly min: number; readonly max: number }
}

/** Every kind of this server. */
export interface Entities {
  readonly all: readonly Entity[]
  byPlural(plural: string): Entity | undefined
  byKind(kind: string): Entity | undefined
}

/** The kinds that are there when no configuration names others. */
export const builtinEntities: readonly EntityConfig[] = [
  { kind: 'Cluster', plural: 'clusters', required_adapters: 'reporting', name_min_len: 3, name_max_len: 53 },
  {
    kind: 'NodePool',
    plural: 'nodepools',
    parent_kind: 'Cluster',
    on_parent_delete: 'cascade',
    required_adapters: 'reporting',
    name_min_len: 3,
    name_max_len: 15,
  },
]

/** A kind that can't be served; the message says which and what to write. */
export class EntityError extends Error {
  constructor(message: string) {
    super(`entities: ${message}`)
    this.name = 'EntityError'
  }
}

const KIND = /^[A-Z][A-Za-z0-9]*$/
const PLURAL = /^[a-z][a-z0-9-]*$/
/** Paths that are not kinds. */
const RESERVED = new Set(['events', 'archive', 'resources', 'openapi', 'openapi.html'])

/** Links the configured kinds to their parents and children. @throws EntityError */
export const defineEntities = (configs: readonly EntityConfig[]): Entities => {
  const kinds = new Map<string, Entity & { children: Entity[]; parent: Entity | undefined }>()
  const plurals = new Map<string, Entity>()
  for (const config of configs) {
    check(config)
    if (kinds.has(config.kind)) throw new EntityError(`kind ${config.kind} is there twice, remove one`)
    if (plurals.has(config.plural)) throw new EntityError(`plural ${config.plural} is there twice, rename one`)
    const entity = {
      kind: config.kind,
      plural: config.plural,
      parent: undefined,
      children: [],
      onParentDelete: config.on_parent_delete ?? 'cascade',
      requiredAdapters: config.required_adapters ?? [],
      nameLength: { min: config.name_min_len ?? 1, max: config.name_max_len ?? 100 },
    }
    kinds.set(config.kind, entity)
    plurals.set(config.plural, entity)
  }
  for (const { kind, parent_kind } of configs) {
    const entity = kinds.get(kind)
    if (entity === undefined || parent_kind === undefined) continue
    const parent = kinds.get(parent_kind)
    if (parent === undefined)
      throw new EntityError(
        `${kind} has parent_kind ${parent_kind}, which is not among: ${[...kinds.keys()].join(', ')}`,
      )
    entity.parent = parent
    parent.children.push(entity)
  }
  for (const entity of kinds.values()) refuseCycle(entity)
  return {
    all: [...kinds.values()],
    byPlural: (plural) => plurals.get(plural),
    byKind: (kind) => kinds.get(kind),
  }
}

const check = ({ kind, plural, name_min_len = 1, name_max_len = 100 }: EntityConfig): void => {
  if (!KIND.test(kind)) throw new EntityError(`kind ${JSON.stringify(kind)} must be UpperCamelCase, such as Cluster`)
  if (!PLURAL.test(plural))
    throw new EntityError(`plural ${JSON.stringify(plural)} must be lower case, such as clusters`)
  if (RESERVED.has(plural)) throw new EntityError(`plural ${plural} is a path of the API itself, choose another`)
  if (!(Number.isInteger(name_min_len) && name_min_len >= 1 && name_min_len <= name_max_len && name_max_len <= 100))
    throw new EntityError(`${kind} needs 1 <= name_min_len <= name_max_len <= 100`)
}

const refuseCycle = (entity: Entity): void => {
  const seen = [entity.kind]
  for (let parent = entity.parent; parent !== undefined; parent = parent.parent) {
    seen.push(parent.kind)
    if (parent === entity) throw new EntityError(`${seen.join(' → ')} is a circle, a kind can't be its own ancestor`)
    if (seen.length > 100) return
  }
}

/** `/api/hyperfleet/v1/clusters/<id>`; a child's begins with its owner's. */
export const hrefOf = (entity: Entity, id: string, owner?: { readonly href: string }): string =>
  `${owner?.href ?? BASE_PATH}/${entity.plural}/${id}`

export const BASE_PATH = '/api/hyperfleet/v1'
