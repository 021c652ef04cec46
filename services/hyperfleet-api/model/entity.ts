import { BASE_PATH } from '#apis/hyperfleet.redhat.com/base-path.ts'
import { nearest } from '#lib/text/nearest.ts'
import { checkEntity, entityError } from './check-entity.ts'
import type { ComputedCondition } from './conditions/computed.ts'
import type { EntityConfig, RequiredAdapters } from './entity-config.ts'

/** The kinds that the API serves. They come from configuration; nothing else in this service knows a kind's name (API-42). */

/** A kind with its defaults filled in and its family known. */
export interface Entity {
  readonly kind: string
  readonly plural: string
  readonly parent: Entity | undefined
  readonly children: readonly Entity[]
  readonly onParentDelete: 'cascade' | 'restrict'
  readonly requiredAdapters: RequiredAdapters
  readonly nameLength: { readonly min: number; readonly max: number }
  readonly specSchema: { readonly name: string; readonly isRequired: boolean } | undefined
  readonly references: readonly ReferenceRule[]
  readonly conditions: readonly ComputedCondition[]
}

/** A reference with its defaults filled in. */
export interface ReferenceRule {
  readonly type: string
  readonly targetKind: string
  readonly min: number
  /** Infinity without a limit. */
  readonly max: number
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

/** Compiles the rules of a kind; see conditions/compile-rules.ts. @throws ConfigError */
export type ConditionCompiler = (config: EntityConfig) => readonly ComputedCondition[]

/** The compiler of these kinds; loaded only when one of them has rules, for the CEL engine is large. */
export const conditionCompiler = async (configs: readonly EntityConfig[]): Promise<ConditionCompiler | undefined> =>
  configs.some(({ conditions = [] }) => conditions.length > 0)
    ? (await import('./conditions/compile-rules.ts')).compileConditions
    : undefined

/**
 * Links the configured kinds to their parents and children.
 * @param compile needed when a kind has rules for conditions: `conditionCompiler`
 * @throws ConfigError
 */
export const defineEntities = (
  configs: readonly EntityConfig[],
  compile: ConditionCompiler = rejectRules,
): Entities => {
  const kinds = new Map<string, Entity & { children: Entity[]; parent: Entity | undefined }>()
  const plurals = new Map<string, Entity>()
  for (const config of configs) {
    checkEntity(config)
    if (kinds.has(config.kind)) throw entityError(`kind ${config.kind} is there twice, remove one`)
    if (plurals.has(config.plural)) throw entityError(`plural ${config.plural} is there twice, rename one`)
    const entity = {
      kind: config.kind,
      plural: config.plural,
      parent: undefined,
      children: [],
      onParentDelete: config.on_parent_delete ?? 'cascade',
      requiredAdapters: config.required_adapters ?? [],
      nameLength: { min: config.name_min_len ?? 1, max: config.name_max_len ?? 100 },
      specSchema:
        config.spec_schema_name === undefined
          ? undefined
          : { name: config.spec_schema_name, isRequired: config.require_spec_schema ?? false },
      references: (config.references ?? []).map(
        ({ ref_type, target_kind, min = 0, max = Number.POSITIVE_INFINITY }) => ({
          type: ref_type,
          targetKind: target_kind,
          min,
          max,
        }),
      ),
      conditions: compile(config),
    }
    kinds.set(config.kind, entity)
    plurals.set(config.plural, entity)
  }
  for (const { kind, parent_kind } of configs) {
    const entity = kinds.get(kind)
    if (entity === undefined) continue
    for (const { type, targetKind } of entity.references)
      if (!kinds.has(targetKind)) throw unknownKind(`reference ${type} of ${kind} has target_kind`, targetKind, kinds)
    if (parent_kind === undefined) continue
    const parent = kinds.get(parent_kind)
    if (parent === undefined) throw unknownKind(`${kind} has parent_kind`, parent_kind, kinds)
    entity.parent = parent
    parent.children.push(entity)
  }
  for (const entity of kinds.values()) rejectCycle(entity)
  return {
    all: [...kinds.values()],
    byPlural: (plural) => plurals.get(plural),
    byKind: (kind) => kinds.get(kind),
  }
}

const rejectRules: ConditionCompiler = ({ kind, conditions = [] }) => {
  if (conditions.length > 0) throw new TypeError(`${kind} has rules for conditions, and nothing compiles them`)
  return []
}

const unknownKind = (where: string, kindName: string, kinds: ReadonlyMap<string, unknown>): Error => {
  const valid = [...kinds.keys()]
  const close = nearest(kindName, valid)
  const hint = close === undefined ? '' : `; did you mean ${close}?`
  return entityError(`${where} ${kindName}, which is no kind${hint} (valid: ${valid.join(', ')})`)
}

const rejectCycle = (entity: Entity): void => {
  const seen = [entity.kind]
  for (let parent = entity.parent; parent !== undefined; parent = parent.parent) {
    seen.push(parent.kind)
    if (parent === entity) throw entityError(`${seen.join(' → ')} is a circle, a kind can't be its own ancestor`)
    if (seen.length > 100) return
  }
}

/** `/api/hyperfleet/v1/clusters/<id>`; a child's begins with its owner's. */
export const hrefOf = (entity: Entity, id: string, owner?: { readonly href: string }): string =>
  `${owner?.href ?? BASE_PATH}/${entity.plural}/${id}`
