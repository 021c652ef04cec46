/**
 * What a `search` text says, as a tree. Whatever reads the text can only make these values, so a search can't reach
 * outside the list that it narrows. Values are checked: a test only has operators and values that its operand takes.
 *
 * A test of something that the resource does not have is neither true nor false, as in SQL, and so is its negation;
 * only `missing` tells.
 */
export type Search =
  | { readonly type: 'and' | 'or'; readonly operands: readonly Search[] }
  | { readonly type: 'not'; readonly operand: Search }
  | SearchTest
  | SearchMissing

/** The resource has no such thing. */
export interface SearchMissing {
  readonly type: 'missing'
  readonly operand: Operand
}

export interface SearchTest {
  readonly type: 'test'
  readonly operand: Operand
  readonly test: Test
}

/** What a name stands for. */
export type Operand =
  | { readonly type: 'column'; readonly column: SearchColumn }
  | { readonly type: 'label'; readonly key: string }
  /** Keys below `spec`, at least one. */
  | { readonly type: 'spec'; readonly path: readonly string[] }
  | { readonly type: 'condition'; readonly condition: string; readonly part: ConditionPart }

export type ConditionPart = 'status' | 'last_updated_time' | 'last_transition_time' | 'observed_generation'

export type Test =
  | { readonly operator: Comparison; readonly value: Value }
  | { readonly operator: 'in'; readonly values: readonly Value[] }
  | { readonly operator: 'between'; readonly low: Value; readonly high: Value }
  /** SQL's pattern: % any text, _ one character, \ takes the next one literally; `ilike` folds ASCII letters. */
  | { readonly operator: 'like' | 'ilike'; readonly pattern: string }

export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>='

/** Text, a time as Timestamp, or a number, as the operand takes it. */
export type Value = string | number

export type SearchColumn = keyof typeof COLUMNS

/** The columns of a resource, and what each holds. */
export const COLUMNS = {
  id: 'text',
  name: 'text',
  kind: 'text',
  href: 'text',
  generation: 'integer',
  created_time: 'time',
  updated_time: 'time',
  deleted_time: 'time',
  created_by: 'text',
  updated_by: 'text',
  deleted_by: 'text',
  owner_id: 'text',
  owner_kind: 'text',
  tenancy: 'text',
} as const

/** What the status of a condition may be compared with. No condition of a resource is ever Unknown. */
export const STATUSES = ['True', 'False', 'Unknown'] as const
