/**
 * The grammar of a JSON Patch operation (RFC 6902, section 4), checked before anything is done with it. Objects come from
 * people and from the cluster, so nothing about their shape is assumed.
 */

import { LIB_ERRORS } from '../errors/catalogue.ts'
import { errorOf } from '../errors/error-of.ts'
import { isObject } from '../json/is-object.ts'
import { findExcess } from '../json/size.ts'
import { quoteValue } from '../text/quote.ts'
import type { Json } from './json.ts'
import { formatPointer, parsePointer } from './pointer.ts'

export type Operation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: Json }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string }

/** An operation that can be applied, and what had to be read into it. */
export interface ReadOperation {
  readonly operation: Operation
  /** Said to the author: what was written and what it was taken for. */
  readonly notices: readonly string[]
}

/** A patch that can't be applied as it is written. */
export class PatchError extends errorOf(LIB_ERRORS, 'PatchError') {
  /** Which operation, counted from 0. */
  readonly index: number

  constructor(index: number, written: string, sentence: string) {
    super(`operation ${index} (${written}): ${sentence}`)
    this.index = index
  }
}

const NAMES = ['add', 'remove', 'replace', 'move', 'copy', 'test'] as const
type Name = (typeof NAMES)[number]

/** Reads one operation. @param index counted from 0, for the error @throws PatchError */
export const readOperation = (written: unknown, index: number): ReadOperation => {
  const fail = (sentence: string) => new PatchError(index, quoteValue(written), sentence)
  if (!isObject(written as Json)) throw fail('must be an object with op and path')
  const entity = written as Readonly<Record<string, unknown>>
  const op = ownProperty(entity, 'op')
  if (!isName(op)) throw fail(`op must be one of ${NAMES.join(', ')}`)
  const path = readPointer(entity, 'path', fail)
  if (op === 'move' || op === 'copy') {
    const from = readPointer(entity, 'from', fail)
    return { operation: { op, from: from.pointer, path: path.pointer }, notices: [...from.notices, ...path.notices] }
  }
  if (op === 'remove') return { operation: { op, path: path.pointer }, notices: path.notices }
  const value = ownProperty(entity, 'value')
  if (value === undefined) throw fail(`${op} needs a value; write value: null to mean null`)
  const excess = findExcess([value as Json])
  if (excess !== undefined) throw fail(`the value has ${excess}`)
  return { operation: { op, path: path.pointer, value: value as Json }, notices: path.notices }
}

const isName = (value: unknown): value is Name => (NAMES as readonly unknown[]).includes(value)

/** A property of the object itself: `op: constructor` is no operation because every object inherits one. */
const ownProperty = (entity: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(entity, key) ? entity[key] : undefined

const readPointer = (
  entity: Readonly<Record<string, unknown>>,
  key: 'path' | 'from',
  fail: (sentence: string) => PatchError,
): { pointer: string; notices: readonly string[] } => {
  const written = ownProperty(entity, key)
  if (typeof written !== 'string') throw fail(`${key} must be a JSON Pointer such as /metadata/name`)
  const hidden = (parsePointer(written) ?? written.split('/')).find((token) => token === '__proto__')
  if (hidden !== undefined) throw fail(`${key} ${written}: ${hidden} is no name that a document may hold`)
  if (parsePointer(written) !== undefined) return { pointer: written, notices: [] }
  // Hive's proposal of inventories writes its paths without the first slash (POOL-44).
  const meant = `/${written}`
  const tokens = parsePointer(meant)
  if (written.startsWith('/') || tokens === undefined)
    throw fail(`${key} ${written} has a ~ that is neither ~0 (for ~) nor ~1 (for /)`)
  return { pointer: formatPointer(tokens), notices: [`${key} ${written} is taken for ${meant}: begin it with a slash`] }
}
