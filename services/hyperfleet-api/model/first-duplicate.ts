/** The first that was there before. */
export const firstDuplicate = (names: readonly string[]): string | undefined => {
  const seen = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}
