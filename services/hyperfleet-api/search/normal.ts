import type { Search, SearchMissing, SearchTest } from './tree.ts'

/**
 * A search without `not`: each test says whether it must hold or must not. A database then looks up what fits instead
 * of leaving out what does not, and what a resource does not have fits neither way.
 */
export type NormalSearch =
  | { readonly type: 'and' | 'or'; readonly operands: readonly NormalSearch[] }
  | NormalTest
  | (SearchMissing & Holding)

export type NormalTest = SearchTest & Holding

interface Holding {
  /** False when the test must fail. */
  readonly holds: boolean
}

/** Moves every `not` down to the tests: not (a and b) is (not a) or (not b). */
export const normalSearch = (search: Search, holds = true): NormalSearch => {
  switch (search.type) {
    case 'test':
    case 'missing':
      return { ...search, holds }
    case 'not':
      return normalSearch(search.operand, !holds)
    case 'and':
    case 'or': {
      const type = holds ? search.type : search.type === 'and' ? 'or' : 'and'
      return { type, operands: search.operands.map((operand) => normalSearch(operand, holds)) }
    }
  }
}
