/** What cel-go has for optionals beyond `.?`, `or`, `orValue`, `value` and `hasValue`. */
import { Duration, Optional, UnsignedInt } from '../values.ts'
import type { CelFunction } from './function.ts'

const isZero = (value: unknown): boolean => {
  if (value === null || value === false || value === '' || value === 0 || value === 0n) return true
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0
  if (value instanceof Map) return value.size === 0
  if (value instanceof UnsignedInt) return value.value === 0n
  if (value instanceof Duration) return value.seconds === 0n && value.nanos === 0
  return value instanceof Optional && !value.hasValue()
}

export const optionalFunctions: readonly CelFunction[] = [
  {
    signature: 'OptionalNamespace.ofNonZeroValue(dyn): optional',
    description: 'Empty for null, false, 0, "" and what has no elements: optional.ofNonZeroValue(x).',
    call: (_: unknown, value: unknown) => (isZero(value) ? Optional.none() : Optional.of(value)),
  },
]
