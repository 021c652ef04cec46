/** Uses of a text before it gets a name: what is asked once, as most searches are, needs no plan that stays. */
const USES_BEFORE_NAMING = 3
/** Most names. Each connection keeps a plan for each, of up to some 100 KB in PostgreSQL. */
const MAX_NAMES = 64
/** Most texts whose uses are counted at a time. */
const MAX_COUNTED = 1_000

/**
 * Names for statements that come again and again, so that a connection parses and plans each once. There are as many
 * texts as callers write searches, so there is a bound: what comes first and often gets the names.
 * @returns the name of a statement by its text; undefined for what has none
 */
export const createStatementNames = (): ((text: string) => string | undefined) => {
  const names = new Map<string, string>()
  const uses = new Map<string, number>()
  return (text) => {
    const name = names.get(text)
    if (name !== undefined || names.size === MAX_NAMES) return name
    const used = (uses.get(text) ?? 0) + 1
    if (used < USES_BEFORE_NAMING) {
      if (uses.size === MAX_COUNTED) uses.clear()
      uses.set(text, used)
      return undefined
    }
    uses.delete(text)
    const next = `muster_${names.size}`
    names.set(text, next)
    return next
  }
}
