import type { Search, SearchMissing, SearchTest } from './search-tree.ts'

/**
 * A search without `not`: each test says whether it must hold or must not. A database then looks up what fits instead
 * of leaving out what does not, and what a resource does not have fits neither way.
 */
export type NormalizedSearch =
  | { readonly type: 'and' | 'or'; readonly operands: readonly NormalizedSearch[] }
  | NormalizedTest
  | (SearchMissing & Holding)

export type NormalizedTest = SearchTest & Holding

interface Holding {
  /** False when the test must fail. */
  readonly holds: boolean
}

/** Moves every `not` down to the tests: not (a and b) is (not a) or (not b). */
export const normalizeSearch = (search: Search, holds = true): NormalizedSearch => {
  switch (search.type) {
    case 'test':
    case 'missing':
      return { ...search, holds }
    case 'not':
      return normalizeSearch(search.operand, !holds)
    case 'and':
    case 'or': {
      const type = holds ? search.type : search.type === 'and' ? 'or' : 'and'
      return { type, operands: search.operands.map((operand) => normalizeSearch(operand, holds)) }
    }
  }
}
