/** Lists, by cel-go's `ext.Lists`. */

import { equal } from '../equality.ts'
import type { Meter } from '../limits.ts'
import { Duration, keyOf, Optional, UnsignedInt } from '../values.ts'
import { type CelFunction, functionError } from './function.ts'

type List = readonly unknown[]

/** Elements a step when a list is made: by their memory rather than their time. */
const ELEMENTS_A_STEP = 2

const size = (list: List): number => list.length / ELEMENTS_A_STEP

const slice = (list: List, from: bigint, to: bigint): List => {
  if (from < 0n || to < 0n || from > to || to > BigInt(list.length)) {
    throw functionError('index_out_of_range', `slice(${from}, ${to}) is outside of a list of ${list.length}`)
  }
  return list.slice(Number(from), Number(to))
}

const MOST_LEVELS = 100n

const flatten = (list: List, levels = 1n): unknown[] => {
  if (levels < 0n) throw functionError('invalid_argument', `flatten(${levels}): write a level that is not negative`)
  return list.flat(Number(levels > MOST_LEVELS ? MOST_LEVELS : levels))
}

/** Elements after flattening, counted before they are copied. */
const flatSize = (list: List, levels = 1n): number =>
  list.reduce<number>(
    (sum, each) => sum + (Array.isArray(each) ? (levels > 1n ? flatSize(each, levels - 1n) : size(each)) : 1),
    1,
  )

/** What sort() can order: one type a list. */
const comparable = (value: unknown): { type: string; key: string | number | bigint | boolean } => {
  switch (typeof value) {
    case 'string':
    case 'bigint':
    case 'number':
    case 'boolean':
      return { type: typeof value, key: value }
  }
  if (value instanceof UnsignedInt) return { type: 'uint', key: value.value }
  if (value instanceof Date) return { type: 'timestamp', key: value.getTime() }
  if (value instanceof Duration) return { type: 'duration', key: value.seconds * 1_000_000_000n + BigInt(value.nanos) }
  throw functionError('invalid_argument', 'sort() orders texts, numbers, bools, timestamps and durations')
}

/** The values in ascending order of their keys, which must have one type. */
export const sorted = (pairs: readonly { readonly value: unknown; readonly key: unknown }[]): unknown[] => {
  const keyed = pairs.map(({ value, key }) => ({ value, ...comparable(key) }))
  const type = keyed[0]?.type
  if (keyed.some((each) => each.type !== type)) {
    throw functionError('invalid_argument', 'what is sorted must have one type')
  }
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  return keyed.map(({ value }) => value)
}

const sort = (list: List): unknown[] => sorted(list.map((value) => ({ value, key: value })))

const sortCost = (list: List): number => (list.length * Math.log2(list.length + 2)) / ELEMENTS_A_STEP

const range = (_: unknown, count: bigint): bigint[] => {
  if (count > 10_000n) throw functionError('invalid_argument', `lists.range(${count}): at most 10000`)
  return Array.from({ length: Math.max(0, Number(count)) }, (_each, index) => BigInt(index))
}

export const listFunctions: readonly CelFunction[] = [
  {
    signature: 'list<A>.slice(int, int): list<A>',
    description: 'From a position up to another.',
    call: slice,
    cost: size,
  },
  {
    signature: 'list.flatten(): list',
    description: 'Lists inside the list replaced by their elements.',
    call: flatten,
    cost: flatSize,
  },
  { signature: 'list.flatten(int): list', description: 'The same, n levels deep.', call: flatten, cost: flatSize },
  { signature: 'list<A>.sort(): list<A>', description: 'In ascending order.', call: sort, cost: sortCost },
  {
    signature: 'list<A>.reverse(): list<A>',
    description: 'In reverse.',
    call: (list: List) => list.toReversed(),
    cost: size,
  },
  {
    signature: 'list.first(): optional',
    description: 'The first element, if there is one.',
    call: (list: List) => Optional.of(list[0]),
  },
  {
    signature: 'list.last(): optional',
    description: 'The last element, if there is one.',
    call: (list: List) => Optional.of(list.at(-1)),
  },
  {
    signature: 'ListsNamespace.range(int): list<int>',
    description: 'The integers from 0 up to n: lists.range(n).',
    call: range,
    cost: (_: unknown, count: bigint) => Number(count) / ELEMENTS_A_STEP,
  },
]

/** Functions that compare elements, which the running evaluation has to count. */
export const meteredFunctions = (running: () => Meter): readonly CelFunction[] => [
  {
    signature: 'list<A>.distinct(): list<A>',
    description: 'Each element once.',
    call: (list: List) => distinct(list, running()),
    cost: size,
  },
]

const distinct = (list: List, meter: Meter): unknown[] => {
  const simple = new Set<unknown>()
  const others: unknown[] = []
  return list.filter((value) => {
    const key = keyOf(value)
    if (typeof key !== 'object' || key === null) return simple.size < simple.add(key).size
    if (others.some((other) => equal(value, other, meter))) return false
    others.push(value)
    return true
  })
}
