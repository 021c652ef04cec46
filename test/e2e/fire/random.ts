/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** At least 0, below 1. */
  next(): number
  /** A whole number, at least 0, below the limit. */
  below(limit: number): number
  /** One of these. @throws RangeError when there is none */
  pick<T>(from: readonly T[]): T
  shuffled<T>(from: readonly T[]): readonly T[]
}

/** Mulberry32. @param seed any whole number */
export const randomOf = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    pick: <T>(from: readonly T[]): T => {
      if (from.length === 0) throw new RangeError('there is nothing to pick from')
      return from[below(from.length)] as T
    },
    shuffled: (from) => {
      const keyed = from.map((one) => ({ one, key: next() }))
      return keyed.toSorted((a, b) => a.key - b.key).map(({ one }) => one)
    },
  }
}

/** A seed as it was given; undefined when none was. @throws Error that says what to write */
export const seedOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return Number(text)
  throw new Error(`MUSTER_FIRE_SEED is ${JSON.stringify(text)}: write a whole number, such as 86362`)
}
