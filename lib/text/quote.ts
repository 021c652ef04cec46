import { truncateText } from './truncate.ts'

/** Characters of a quotation. */
const MAX_CHARS = 120

/** What was found, as JSON for a message, shortened: it is another's, and may be of any size, or nested deeper than JSON is written. */
export const quoteValue = (value: unknown): string => {
  let text: string
  try {
    text = JSON.stringify(value) ?? String(value)
  } catch {
    return "something that can't be written as JSON"
  }
  return text.length > MAX_CHARS ? `${truncateText(text, MAX_CHARS)}…` : text
}
