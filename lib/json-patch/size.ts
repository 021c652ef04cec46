/** How much a document holds: a patch of some hundred characters can double it with each `copy` (RFC 6902, section 4.5). */
import type { Json } from './json.ts'

/** As many values as an install-config may have, and as many characters as the API server takes in one request. */
const MAX_VALUES = 100_000
const MAX_CHARS = 3 * 1024 * 1024
/** Deeper than any document of people; what reads documents goes down by recursion. */
const MAX_DEPTH = 1_000

/** Why documents and values that are put together are too much; undefined when they are not. Reads no more than it has to. */
export const findExcess = (...parts: readonly Json[]): string | undefined => {
  let values = 0
  let chars = 0
  let level: readonly Json[] = parts
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return `would make more than ${MAX_DEPTH} levels`
    const below: Json[] = []
    for (const value of level) {
      values += 1
      if (typeof value === 'string') chars += value.length
      else if (typeof value === 'object' && value !== null) {
        if (!Array.isArray(value)) for (const key of Object.keys(value)) chars += key.length
        for (const inner of Object.values(value)) below.push(inner)
      }
    }
    if (values + below.length > MAX_VALUES) return `would make more than ${MAX_VALUES} values`
    if (chars > MAX_CHARS) return `would make more than ${MAX_CHARS} characters`
    level = below
  }
  return undefined
}
