import { MAX_DOCUMENT_DEPTH } from '../model/document-depth.ts'
import { Problem } from '../problems/problem.ts'

/**
 * Refuses what JSON can carry and a database can't: NUL, half a surrogate pair, a number beyond doubles, which would be
 * stored as null, and nesting without end.
 * @throws Problem malformed
 */
export const checkDocument = (body: unknown): void => {
  const open: { value: unknown; depth: number }[] = [{ value: body, depth: 1 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (typeof value === 'string') checkText(value)
    else if (typeof value === 'number' && !Number.isFinite(value))
      throw new Problem('malformed', 'a number is beyond what a double holds (1.8e308): write it as text')
    else if (typeof value === 'object' && value !== null) {
      if (depth > MAX_DOCUMENT_DEPTH)
        throw new Problem('malformed', `the body is nested deeper than ${MAX_DOCUMENT_DEPTH} levels`)
      for (const [key, inner] of Object.entries(value)) {
        checkText(key)
        open.push({ value: inner, depth: depth + 1 })
      }
    }
  }
}

/** @throws Problem malformed */
export const checkText = (text: string): void => {
  if (text.includes('\0')) throw new Problem('malformed', 'the NUL character can’t be stored, leave it out')
  if (!text.isWellFormed()) throw new Problem('malformed', 'the text is no valid Unicode: a surrogate stands alone')
}
