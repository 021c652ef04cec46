import { Refusal } from '../errors.ts'
import { entry, fromData, isMap, kindOf, type Value } from '../value.ts'
import type { TemplateFunction } from './function.ts'

const len = (value: Value): bigint => {
  const kind = kindOf(value)
  if (kind === 'string') return BigInt(Buffer.byteLength(value as string))
  if (kind === 'list') return BigInt((value as readonly unknown[]).length)
  if (kind === 'map') return BigInt(value instanceof Map ? value.size : Object.keys(value as object).length)
  throw new Refusal(`a ${kind} has no length`)
}

const indexIn = (length: number, index: Value, mayBeEnd: boolean): number => {
  if (typeof index !== 'bigint') throw new Refusal(`an index is an int, not a ${kindOf(index)}`)
  const most = mayBeEnd ? length : length - 1
  if (index < 0n || index > BigInt(most)) throw new Refusal(`the index ${index} is outside of ${length} elements`)
  return Number(index)
}

const index = (value: Value, ...path: readonly Value[]): Value =>
  path.reduce((at: Value, key) => {
    if (Array.isArray(at)) return fromData(at[indexIn(at.length, key, false)])
    if (typeof at === 'string') {
      const bytes = Buffer.from(at)
      return BigInt(bytes[indexIn(bytes.length, key, false)] ?? 0)
    }
    if (!isMap(at)) throw new Refusal(`a ${kindOf(at)} can't be indexed`)
    if (typeof key !== 'string') throw new Refusal(`a map is indexed by a text, not by a ${kindOf(key)}`)
    return entry(at, key) ?? null
  }, value)

const slice = (value: Value, ...bounds: readonly Value[]): Value => {
  const isText = typeof value === 'string'
  if (!isText && !Array.isArray(value)) throw new Refusal(`a ${kindOf(value)} can't be sliced`)
  if (bounds.length > (isText ? 2 : 3)) throw new Refusal('slice takes a start and an end')
  const content: Buffer | readonly unknown[] = isText ? Buffer.from(value) : value
  const numbers = bounds.map((bound) => indexIn(content.length, bound, true))
  const [from = 0, to = content.length, most = content.length] = numbers
  if (from > to || to > most) throw new Refusal(`a slice can't start at ${from} and end at ${to}`)
  if (!isText) return content.slice(from, to)
  const cut = (content as Buffer).subarray(from, to)
  const text = cut.toString('utf8')
  if (Buffer.compare(Buffer.from(text), cut) !== 0)
    throw new Refusal('the slice would cut a character in two: slice counts bytes')
  return text
}

/** What is in a list, map or text. */
export const collectionFunctions: readonly TemplateFunction[] = [
  {
    name: 'len',
    usage: 'len A',
    description: 'How many elements a list or map has, or bytes a text.',
    parameters: ['any'],
    call: len,
  },
  {
    name: 'index',
    usage: 'index A "key" 0',
    description: 'Value at a key of a map or a position of a list; a key that is not there gives nothing.',
    parameters: ['any'],
    rest: 'any',
    call: index,
  },
  {
    name: 'slice',
    usage: 'slice A 1 3',
    description: 'A part of a list, or of a text by its bytes.',
    parameters: ['any'],
    rest: 'any',
    call: slice,
  },
]
