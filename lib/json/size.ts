/** How much a document holds: a patch of some hundred characters can double it with each `copy` (RFC 6902, section 4.5), YAML with each alias. */
import type { Json } from '../json-patch/json.ts'

/** As many values as an install-config may have, and as many characters as the API server takes in one request. */
const MAX_VALUES = 100_000
const MAX_CHARS = 3 * 1024 * 1024
/** Deeper than any document of people, and than js-yaml reads without aliases; what reads documents goes down by recursion. */
export const MAX_LEVELS = 100

/** What of documents and values that are put together is too much, as `more than 100 levels`; undefined when nothing is. Reads no more than it has to. */
export const findExcess = (parts: readonly Json[], levels = MAX_LEVELS): string | undefined => {
  let values = parts.length
  let chars = 0
  let level: readonly Json[] = parts
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return `more than ${levels} levels`
    const below: Json[] = []
    for (const value of level) {
      if (typeof value === 'string') chars += value.length
      else if (typeof value === 'object' && value !== null) {
        if (!Array.isArray(value)) for (const key of Object.keys(value)) chars += key.length
        const inner = Object.values(value)
        // Before they are put together: some thousand aliases of some thousand values are no room at all, until they are.
        values += inner.length
        if (values > MAX_VALUES) return `more than ${MAX_VALUES} values`
        for (const one of inner) below.push(one)
      }
      if (chars > MAX_CHARS) return `more than ${MAX_CHARS} characters`
    }
    level = below
  }
  return undefined
}
