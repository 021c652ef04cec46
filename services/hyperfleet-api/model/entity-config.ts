/** Kinds as the configuration file writes them. */

/**
 * Which adapters must report before a resource is ready: a list of names, or `reporting`: every adapter that has
 * reported about the resource, and at least one. An empty list is a kind that no adapter works on. While it is `undecided`,
 * no resource of the kind is ready, whatever reports (API-160).
 */
export type RequiredAdapters = readonly string[] | 'reporting' | 'undecided'

/** Those that are required by their names. */
export const namedAdapters = (required: RequiredAdapters): readonly string[] =>
  typeof required === 'string' ? [] : required

/** A kind as the configuration file writes it (`entities`, the Go service's field names). */
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
  /** The schema that specs of this kind must fit, by its name in the file of schemas. */
  readonly spec_schema_name?: string
  /** Refuse to serve when that schema is not there; default false. */
  readonly require_spec_schema?: boolean
  readonly references?: readonly ReferenceConfig[]
  readonly conditions?: readonly ConditionRule[]
  /** Default 1. */
  readonly name_min_len?: number
  /** Default 100. */
  readonly name_max_len?: number
}

/** Resources of another kind that a resource of this kind may or must name. */
export interface ReferenceConfig {
  /** The name under which they are listed, e.g. `wif_config`. */
  readonly ref_type: string
  readonly target_kind: string
  /** Default 0. */
  readonly min?: number
  /** No limit when absent. */
  readonly max?: number
}

/** A condition computed from adapter statuses by CEL expressions. */
export interface ConditionRule {
  readonly type: string
  readonly when: Expression
  readonly output: { readonly status: Expression; readonly reason: Expression; readonly message: Expression }
}

interface Expression {
  readonly expression: string
}
