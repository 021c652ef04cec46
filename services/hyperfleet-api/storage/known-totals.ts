/** Most totals that are known at a time. */
const MAX_TOTALS = 500

/** A count as of a version of the changes: it holds until there is a newer one, or a gap behind it. */
export interface KnownTotal {
  readonly version: number
  readonly gap: number
  readonly total: number
}

/** How many resources fitted, by what was asked. What was not asked for longest is forgotten. */
export interface KnownTotals {
  get(question: string): KnownTotal | undefined
  set(question: string, known: KnownTotal): void
}

export const createKnownTotals = (): KnownTotals => {
  const totals = new Map<string, KnownTotal>()
  const set = (question: string, known: KnownTotal): void => {
    totals.delete(question)
    totals.set(question, known)
    if (totals.size > MAX_TOTALS) totals.delete(totals.keys().next().value ?? question)
  }
  return {
    get: (question) => {
      const known = totals.get(question)
      if (known !== undefined) set(question, known)
      return known
    },
    set,
  }
}
