/** Equality as CEL means it: by value, numbers across their types, anything else of different types unequal. */
import type { Meter } from './limits.ts'
import { Duration, keyOf, Optional, UnsignedInt } from './values.ts'

const number = (value: unknown): number | bigint | undefined => {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  return value instanceof UnsignedInt ? value.value : undefined
}

/** Whether two CEL values are equal; every pair that is compared is a step. */
export const equal = (a: unknown, b: unknown, meter: Meter): boolean => {
  meter.charge(1)
  const left = number(a)
  const right = number(b)
  // biome-ignore lint/suspicious/noDoubleEquals: a bigint and a number of the same value are equal by == only
  if (left !== undefined && right !== undefined) return left == right
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((element, index) => equal(element, b[index], meter))
  }
  if (a instanceof Map) {
    if (!(b instanceof Map) || a.size !== b.size) return false
    for (const [key, value] of a) if (!b.has(key) || !equal(value, b.get(key), meter)) return false
    return true
  }
  if (a instanceof Date) return b instanceof Date && a.getTime() === b.getTime()
  if (a instanceof Duration) return b instanceof Duration && a.seconds === b.seconds && a.nanos === b.nanos
  if (a instanceof Uint8Array) {
    meter.weigh(a)
    return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  }
  if (!(a instanceof Optional && b instanceof Optional)) return false
  if (!a.hasValue() || !b.hasValue()) return a.hasValue() === b.hasValue()
  return equal(a.value(), b.value(), meter)
}

/** `value in list` and `key in map`. @returns undefined when the right side is neither */
export const contained = (value: unknown, container: unknown, meter: Meter): boolean | undefined => {
  if (Array.isArray(container)) return container.some((element) => equal(value, element, meter))
  return container instanceof Map ? container.has(keyOf(value)) : undefined
}
