/** Which of the valid choices was probably meant, for messages that name it. */

/** Characters to insert, delete, replace or swap with their neighbour (optimal string alignment distance). */
const distance = (a: string, b: string): number => {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(
        Math.min(
          at(i - 1, j) + 1,
          (row[j - 1] ?? 0) + 1,
          at(i - 1, j - 1) + (same ? 0 : 1),
          swapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
  }
  return at(a.length, b.length)
}

/** Longer texts are not looked at: a long text is no mistyped word. */
const MAX_CHARS = 128

/**
 * The choice that the text is closest to, the first of several; letter case doesn't count.
 * @returns undefined when none is near: more than half of the letters would have to change.
 */
export const nearest = (text: string, choices: readonly string[]): string | undefined => {
  if (text.length > MAX_CHARS) return undefined
  const searched = text.toLowerCase()
  let best: { choice: string; changes: number } | undefined
  for (const choice of choices) {
    const changes = distance(searched, choice.toLowerCase())
    if (changes * 2 > Math.max(searched.length, choice.length)) continue
    if (best === undefined || changes < best.changes) best = { choice, changes }
  }
  return best?.choice
}

/** `; did you mean x?`, or nothing when no choice is near. */
export const hintAt = (text: string, choices: readonly string[]): string => {
  const close = nearest(text, choices)
  return close === undefined ? '' : `; did you mean ${close}?`
}
