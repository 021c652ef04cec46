import type { Timestamp } from '../model/timestamp.ts'

/**
 * What a `search` text says, as a tree. Whatever reads the text can only make these values, so a search can't reach
 * outside the list that it narrows.
 */
export type Search =
  | { readonly type: 'and' | 'or'; readonly operands: readonly Search[] }
  | { readonly type: 'not'; readonly operand: Search }
  | { readonly type: 'label'; readonly key: string; readonly test: TextTest }
  | { readonly type: 'column'; readonly column: TextColumn; readonly test: TextTest }
  | { readonly type: 'condition'; readonly condition: string; readonly status: 'True' | 'False' }
  | {
      readonly type: 'conditionTime'
      readonly condition: string
      readonly column: 'last_updated_time' | 'last_transition_time'
      readonly operator: Comparison
      readonly time: Timestamp
    }
  | {
      readonly type: 'conditionGeneration'
      readonly condition: string
      readonly operator: Comparison
      readonly generation: number
    }

export type TextTest =
  | { readonly operator: '=' | '!='; readonly value: string }
  | { readonly operator: 'in'; readonly values: readonly string[] }

export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>='

export type TextColumn = 'id' | 'name' | 'kind' | 'href' | 'owner_id' | 'owner_kind' | 'created_by' | 'updated_by'
