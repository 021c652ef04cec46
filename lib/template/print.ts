/** Go's `fmt`: what print, println and an action without a variable write. */
import { Refusal } from './errors.ts'
import { general, special } from './float-text.ts'
import { timeText } from './time.ts'
import { entry, fromData, keysOf, kindOf, type Value } from './value.ts'

/** Longest text that one call may make. */
export const MAX_TEXT_CHARS = 1_048_576

/** Joins texts as they come, so that many long ones are refused before they fill the memory. */
const joined = (texts: Iterable<string>): string => {
  const parts: string[] = []
  let length = 0
  for (const text of texts) {
    length += text.length
    if (length > MAX_TEXT_CHARS) throw new Refusal(`the text would be longer than ${MAX_TEXT_CHARS} characters`)
    parts.push(text)
  }
  return parts.join('')
}

/** `%v` of a value inside another, or given to print. */
export const plain = (value: Value): string => {
  switch (kindOf(value)) {
    case 'nil':
      return '<nil>'
    case 'float':
      return special(value as number) ?? general(value as number, undefined)
    case 'time':
      return timeText(value as Date)
    case 'list':
      return `[${(value as readonly unknown[]).map((each) => plain(fromData(each))).join(' ')}]`
    case 'map':
      return `map[${keysOf(value as object)
        .map((key) => `${key}:${plain(entry(value as object, key))}`)
        .join(' ')}]`
    default:
      return String(value)
  }
}

/** What an action writes: a missing value reads differently from one inside a list. */
export const shown = (value: Value): string => (value === null ? '<no value>' : plain(value))

/** fmt.Sprint: spaces stand between operands that are both no text. */
export const print = (values: readonly Value[]): string =>
  joined(
    values.values().map((value, index) => {
      const spaced = index > 0 && typeof value !== 'string' && typeof values[index - 1] !== 'string'
      return (spaced ? ' ' : '') + plain(value)
    }),
  )

/** fmt.Sprintln. */
export const println = (values: readonly Value[]): string =>
  `${joined(values.values().map((value, index) => (index > 0 ? ' ' : '') + plain(value)))}\n`
