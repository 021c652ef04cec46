import { GO_ESCAPES } from '../text/go-escapes.ts'

const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

/** strconv.Quote; with `'` around it, strconv.QuoteRune. */
export const quote = (text: string, mark = '"'): string => {
  let quoted = mark
  for (const character of text.toWellFormed()) {
    const code = character.codePointAt(0) ?? 0
    const known = character === mark ? `\\${mark}` : GO_ESCAPES[character]
    if (known !== undefined) quoted += known
    else if (PRINTABLE.test(character)) quoted += character
    else if (code < 0x20 || code === 0x7f) quoted += `\\x${code.toString(16).padStart(2, '0')}`
    else if (code > 0xffff) quoted += `\\U${code.toString(16).padStart(8, '0')}`
    else quoted += `\\u${code.toString(16).padStart(4, '0')}`
  }
  return quoted + mark
}
