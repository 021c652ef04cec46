/**
 * JSON Patches (RFC 6902) by fast-json-patch, behind a front that is as strict as the standard: that library takes inherited
 * properties for existing ones, looks operations up by any name, and shares a patch's values with the document it makes.
 */
import jsonPatch from 'fast-json-patch'
import type { Json } from './json.ts'
import { type Operation, PatchError, readOperation } from './operation.ts'
import { find, indexOf, isObject, pointerOf, tokensOf } from './pointer.ts'

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
    const refusal = refuse(patched, operation)
    if (refusal !== undefined) throw new PatchError(index, said(operation), refusal)
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
      throw new PatchError(index, said(operation), (error.message.split('\n', 1)[0] ?? '').toLowerCase())
    throw error
  }
}

/** Why an operation can't be applied to this document; undefined when it can. */
const refuse = (document: Json, operation: Operation): string | undefined => {
  const path = tokens(operation.path)
  switch (operation.op) {
    case 'test':
      return missing(document, path) ?? untrue(document, operation)
    case 'replace':
      return missing(document, path)
    case 'remove':
      return path.length === 0 ? 'the whole document can’t be removed' : missing(document, path)
    case 'add':
      return noPlace(document, path)
    case 'copy':
      return missing(document, tokens(operation.from)) ?? noPlace(document, path)
    case 'move':
      return missing(document, tokens(operation.from)) ?? intoItself(operation) ?? noPlaceAfter(document, operation)
  }
}

const missing = (document: Json, path: readonly string[]): string | undefined => {
  const found = find(document, path)
  return 'miss' in found ? found.miss : undefined
}

const untrue = (document: Json, operation: Extract<Operation, { value: Json }>): string | undefined => {
  const found = find(document, tokens(operation.path))
  if ('miss' in found || jsonPatch._areEquals(found.value, operation.value)) return undefined
  return `${operation.path || 'the document'} is ${JSON.stringify(found.value)}`
}

/** Something is added to what exists: an object, or an array no further than behind its end. */
const noPlace = (document: Json, path: readonly string[]): string | undefined => {
  const last = path.at(-1)
  if (last === undefined) return undefined
  const parent = find(document, path.slice(0, -1))
  if ('miss' in parent) return parent.miss
  const container = parent.value
  const place = pointerOf(path.slice(0, -1)) || 'the document'
  if (Array.isArray(container)) {
    const index = indexOf(last, container)
    if (index === undefined) return `${last} is no index of the array ${place}`
    return index > container.length ? `${place} has only ${container.length} elements` : undefined
  }
  return isObject(container) ? undefined : `${place} is neither an object nor an array`
}

/** A move is a remove, then an add: the place is looked for in what the remove leaves. */
const noPlaceAfter = (document: Json, operation: Extract<Operation, { from: string }>): string | undefined => {
  const from = tokens(operation.from)
  if (from.length === 0 || operation.from === operation.path) return undefined
  const left = apply(structuredClone(document), { op: 'remove', path: operation.from }, 0)
  return noPlace(left, tokens(operation.path))
}

const intoItself = ({ from, path }: Extract<Operation, { from: string }>): string | undefined =>
  path.startsWith(`${from}/`) ? `${from || 'the document'} can’t be moved into itself` : undefined

const tokens = (pointer: string): readonly string[] => tokensOf(pointer) ?? []

const said = (operation: Operation): string =>
  'from' in operation ? `${operation.op} ${operation.from} to ${operation.path}` : `${operation.op} ${operation.path}`
