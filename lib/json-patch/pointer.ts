/**
 * JSON Pointers (RFC 6901) over plain JSON, by own properties only: what a document inherits from JavaScript is not in it.
 */
import { isObject } from '../json/is-object.ts'
import type { Json } from './json.ts'

/** Why a pointer leads nowhere; a part of a sentence that begins with the path. */
export type Problem = string

/** The reference tokens of a pointer, unescaped; undefined when the text is no pointer. */
export const parsePointer = (pointer: string): readonly string[] | undefined => {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** RFC 6901, section 4: no sign, no leading zero. */
const INDEX = /^(?:0|[1-9]\d*)$/

/** The position in an array that a token names; `-` is behind the last. Undefined for anything else. */
export const parseIndex = (token: string, array: readonly Json[]): number | undefined => {
  if (token === '-') return array.length
  return INDEX.test(token) ? Number(token) : undefined
}

/** Does the container hold something under this token? */
export const has = (container: Json, token: string): boolean => {
  if (Array.isArray(container)) {
    const index = parseIndex(token, container)
    return index !== undefined && index < container.length
  }
  return isObject(container) && Object.hasOwn(container, token)
}

/** What the tokens lead to, or why they lead nowhere. */
export const resolvePointer = (
  document: Json,
  tokens: readonly string[],
): { readonly value: Json } | { readonly problem: Problem } => {
  let value = document
  for (const [depth, token] of tokens.entries()) {
    if (!has(value, token)) return { problem: `${formatPointer(tokens.slice(0, depth + 1))} does not exist` }
    value = (value as { [key: string]: Json })[token] as Json
  }
  return { value }
}

export const formatPointer = (tokens: readonly string[]): string =>
  tokens.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
