/** Levels that no document has which people write: js-yaml reads as many. Recursion over what has no more is bounded. */
export const MAX_LEVELS = 100

/** Whether lists and objects stand in each other deeper than so many levels. Without recursion: it may be deeper than the stack. */
export const isDeeperThan = (value: unknown, levels: number): boolean => {
  const open = [{ value, level: 1 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue
    if (next.level > levels) return true
    for (const inner of Object.values(next.value)) open.push({ value: inner, level: next.level + 1 })
  }
  return false
}
