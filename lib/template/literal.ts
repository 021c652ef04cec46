/** Go's literals as they stand in templates. */

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
}

const ESCAPE = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{3})|(.))/gs

/** The value of `"…"`, `'…'` or a raw string. @returns undefined for an escape that Go does not have */
export const unquote = (literal: string): string | undefined => {
  const mark = literal.charAt(0)
  const inner = literal.slice(1, -1)
  if (mark === '`') return inner.replaceAll('\r', '')
  let valid = true
  const text = inner.replaceAll(
    ESCAPE,
    (_, hex?: string, short?: string, long?: string, octal?: string, letter?: string) => {
      const digits = hex ?? short ?? long
      if (letter !== undefined) {
        const escaped = letter === mark ? mark : ESCAPES[letter]
        if (escaped === undefined) valid = false
        return escaped ?? ''
      }
      const code = digits === undefined ? Number.parseInt(octal ?? '', 8) : Number.parseInt(digits, 16)
      // \x80 and above are bytes in Go, which a text here can't hold one by one.
      const isByte = (hex !== undefined || octal !== undefined) && code > 0x7f
      const isSurrogate = code >= 0xd800 && code <= 0xdfff
      if (isByte || isSurrogate || code > 0x10ffff) valid = false
      return valid ? String.fromCodePoint(code) : ''
    },
  )
  return valid ? text : undefined
}

/** Underscores stand between digits, or after a base. */
const UNDERSCORES = /__|_$|^_|_[.eE+-]|[.eE+-]_/

/** A bigint for what Go takes for an int, a number for a float64. @returns undefined for what is neither */
export const readNumber = (text: string): bigint | number | undefined => {
  if (UNDERSCORES.test(text)) return undefined
  const plain = text.replaceAll('_', '')
  const [, sign = '', digits = ''] = /^([+-]?)(.*)$/.exec(plain) ?? []
  const isBased = /^0[xXbBoO]/.test(digits)
  // Underscores need a base or a number that does not begin with 0.
  if (/^\d+$/.test(digits) || isBased) {
    if (/^0\d/.test(digits) && !/^0[0-7]+$/.test(digits)) return undefined
    const value = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits)
    const signed = sign === '-' ? -value : value
    return signed >= -(2n ** 63n) && signed < 2n ** 63n ? signed : undefined
  }
  const value = Number(plain)
  if (!Number.isFinite(value)) return undefined
  // Go takes 1.0 and 1e3 for ints as well where an int is wanted; as a value of its own it is a float.
  return value
}
