/** Uses of a text before it gets a name: what is asked once, as most searches are, needs no plan that stays. */
const USES_BEFORE_NAMING = 3
/** Most names. Each connection keeps a plan for each, of up to some 100 KB in PostgreSQL. */
const MAX_NAMES = 64
/** Most texts whose uses are counted at a time. */
const MAX_COUNTED = 1_000

/** Names for statements that come again and again, so that a connection parses and plans each once (API-94). */
export interface StatementNames {
  /** The name of a statement by its text; undefined for what has none. */
  nameOf(text: string): string | undefined
  /** Whether the name still stands for a text. No name ever stands for another. */
  isCurrent(name: string): boolean
  /** How many names were given up so far. */
  readonly evictions: number
}

/** There are as many texts as callers write searches, so there is a bound: what was not used for longest loses its name. */
export const createStatementNames = (): StatementNames => {
  /** By text, the one that was not used for longest first. */
  const names = new Map<string, string>()
  const uses = new Map<string, number>()
  const current = new Set<string>()
  let namesMade = 0
  const evictOldest = () => {
    const [oldest] = names
    if (oldest === undefined || names.size < MAX_NAMES) return
    names.delete(oldest[0])
    current.delete(oldest[1])
  }
  return {
    get evictions() {
      return namesMade - current.size
    },
    isCurrent: (name) => current.has(name),
    nameOf: (text) => {
      const known = names.get(text)
      if (known !== undefined) {
        names.delete(text)
        names.set(text, known)
        return known
      }
      const used = (uses.get(text) ?? 0) + 1
      if (used < USES_BEFORE_NAMING) {
        if (uses.size === MAX_COUNTED) uses.clear()
        uses.set(text, used)
        return undefined
      }
      uses.delete(text)
      evictOldest()
      const name = `muster_${namesMade}`
      namesMade += 1
      names.set(text, name)
      current.add(name)
      return name
    },
  }
}
