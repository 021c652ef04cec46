/** The value below which a share (0 to 1) of the sample lies, by nearest rank. @throws RangeError for an empty sample. */
export const percentile = (sample: readonly number[], share: number): number => {
  const sorted = sample.toSorted((a, b) => a - b)
  const value = sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))]
  if (value === undefined) throw new RangeError('a percentile needs at least one value')
  return value
}

/** The middle value, or the mean of the middle two. @throws RangeError for an empty sample. */
export const median = (sample: readonly number[]): number => {
  const sorted = sample.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]
  if (upper === undefined || lower === undefined) throw new RangeError('a median needs at least one value')
  return (lower + upper) / 2
}
