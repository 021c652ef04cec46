import { Problem } from '../problems/problem.ts'

/** Bytes of the documents of one page, as they are stored. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024

/**
 * Refuses a page that would be too large, before any of it is read or sent (API-173).
 * @param lengths of its documents, in bytes
 * @throws Problem pageTooLarge, which names a size at which none of these documents is on such a page
 */
export const refuseLargePage = (lengths: readonly number[]): void => {
  const bytes = lengths.reduce((sum, length) => sum + length, 0)
  if (bytes <= MAX_PAGE_BYTES) return
  const size = fittingSize(lengths)
  throw new Problem(
    'pageTooLarge',
    `the ${lengths.length} records of this page have ${bytes} bytes, more than ${MAX_PAGE_BYTES}: ask for pages of size ${size}`,
    [{ field: 'size', message: `must be at most ${size} for these records` }],
  )
}

/** The most documents of which so many after each other always fit, wherever a page begins; at least 1. */
export const fittingSize = (lengths: readonly number[], limit = MAX_PAGE_BYTES): number => {
  let fitting = lengths.length
  let end = 0
  let bytes = 0
  for (const [start, length] of lengths.entries()) {
    for (; end < lengths.length && bytes + (lengths[end] ?? 0) <= limit; end += 1) bytes += lengths[end] ?? 0
    // Up to the last one there is nothing more that could be too much.
    if (end < lengths.length) fitting = Math.min(fitting, end - start)
    if (end > start) bytes -= length
    else end = start + 1
  }
  return Math.max(1, fitting)
}
