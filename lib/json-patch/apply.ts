/**
 * JSON Patches (RFC 6902) by fast-json-patch, behind a front that is as strict as the standard: that library takes inherited
 * properties for existing ones, looks operations up by any name, and shares a patch's values with the document it makes.
 */

import jsonPatch from 'fast-json-patch'
import { isObject } from '../json/is-object.ts'
import { findExcess } from '../json/size.ts'
import type { Json } from './json.ts'
import { type Operation, PatchError, readOperation } from './operation.ts'
import { formatPointer, parseIndex, parsePointer, resolvePointer } from './pointer.ts'

export interface Patched {
  readonly document: Json
  /** What was read into the patches, for their author. */
  readonly notices: readonly string[]
}

/**
 * Applies patches in their order, all or none; neither the document nor the patches are changed.
 * @throws PatchError naming the first operation that can't be applied
 */
export const applyPatches = (document: Json, patches: readonly unknown[]): Patched => {
  const read = readPatches(patches)
  let patched = structuredClone(document)
  for (const [index, { operation }] of read.entries()) {
    const refusal = findProblem(patched, operation)
    if (refusal !== undefined) throw new PatchError(index, describeOperation(operation), refusal)
    patched = apply(patched, structuredClone(operation), index)
  }
  return { document: patched, notices: read.flatMap(({ notices }) => notices) }
}

/** Reads all operations without a document: what can be known before there is one. @throws PatchError */
export const readPatches = (patches: readonly unknown[]) => patches.map(readOperation)

const apply = (document: Json, operation: Operation, index: number): Json => {
  try {
    // The library's ban on `constructor/prototype` is for documents with prototypes; the front has own properties only.
    return jsonPatch.applyOperation(document, operation, true, true, false, index).newDocument
  } catch (error) {
    if (error instanceof jsonPatch.JsonPatchError)
      throw new PatchError(index, describeOperation(operation), (error.message.split('\n', 1)[0] ?? '').toLowerCase())
    throw error
  }
}

/** Why an operation can't be applied to this document; undefined when it can. */
const findProblem = (document: Json, operation: Operation): string | undefined => {
  const path = parseTokens(operation.path)
  switch (operation.op) {
    case 'test':
      return missingPath(document, path) ?? failedTest(document, operation)
    case 'replace':
      return missingPath(document, path)
    case 'remove':
      return path.length === 0 ? 'the whole document can’t be removed' : missingPath(document, path)
    case 'add':
      return invalidTarget(document, path)
    case 'copy':
      return (
        missingPath(document, parseTokens(operation.from)) ??
        invalidTarget(document, path) ??
        excessiveCopy(document, operation.from)
      )
    case 'move':
      return (
        missingPath(document, parseTokens(operation.from)) ??
        moveIntoItself(operation) ??
        invalidMoveTarget(document, operation)
      )
  }
}

const missingPath = (document: Json, path: readonly string[]): string | undefined => {
  const found = resolvePointer(document, path)
  return 'problem' in found ? found.problem : undefined
}

const failedTest = (document: Json, operation: Extract<Operation, { value: Json }>): string | undefined => {
  const found = resolvePointer(document, parseTokens(operation.path))
  if ('problem' in found || jsonPatch._areEquals(found.value, operation.value)) return undefined
  return `${operation.path || 'the document'} is ${JSON.stringify(found.value)}`
}

/** Something is added to what exists: an object, or an array no further than behind its end. */
const invalidTarget = (document: Json, path: readonly string[]): string | undefined => {
  const last = path.at(-1)
  if (last === undefined) return undefined
  const parent = resolvePointer(document, path.slice(0, -1))
  if ('problem' in parent) return parent.problem
  const container = parent.value
  const place = formatPointer(path.slice(0, -1)) || 'the document'
  if (Array.isArray(container)) {
    const index = parseIndex(last, container)
    if (index === undefined) return `${last} is no index of the array ${place}`
    return index > container.length ? `${place} has only ${container.length} elements` : undefined
  }
  return isObject(container) ? undefined : `${place} is neither an object nor an array`
}

/** Of a document that is put together of many copies. */
const MAX_LEVELS = 1_000

/** Looked at before the copy is made: a copy is the one operation by which a document outgrows its patch (POOL-62). */
const excessiveCopy = (document: Json, from: string): string | undefined => {
  const found = resolvePointer(document, parseTokens(from))
  if ('problem' in found) return found.problem
  const excess = findExcess([document, found.value], MAX_LEVELS)
  return excess && `would make ${excess}`
}

/** A move is a remove, then an add: the place is looked for in what the remove leaves. */
const invalidMoveTarget = (document: Json, operation: Extract<Operation, { from: string }>): string | undefined => {
  const from = parseTokens(operation.from)
  if (from.length === 0 || operation.from === operation.path) return undefined
  const left = apply(structuredClone(document), { op: 'remove', path: operation.from }, 0)
  return invalidTarget(left, parseTokens(operation.path))
}

const moveIntoItself = ({ from, path }: Extract<Operation, { from: string }>): string | undefined =>
  path.startsWith(`${from}/`) ? `${from || 'the document'} can’t be moved into itself` : undefined

const parseTokens = (pointer: string): readonly string[] => parsePointer(pointer) ?? []

const describeOperation = (operation: Operation): string =>
  'from' in operation ? `${operation.op} ${operation.from} to ${operation.path}` : `${operation.op} ${operation.path}`
