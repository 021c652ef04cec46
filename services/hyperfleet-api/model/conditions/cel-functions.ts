import { type CelFunction, toJson } from '#lib/cel/index.ts'

/** What rules may call beyond the standard functions; the Go service's names. */
export const conditionFunctions: readonly CelFunction[] = [
  {
    signature: 'toJson(dyn): string',
    description: 'Any value as JSON text.',
    call: (value: unknown) => JSON.stringify(toJson(value)),
  },
  {
    signature: 'dig(dyn, string): dyn',
    description: 'Value at a dotted path such as `items.0.name`; null where the path leads nowhere.',
    call: (value: unknown, path: string) => path.split('.').reduce(step, value),
  },
]

const step = (value: unknown, key: string): unknown => {
  if (value instanceof Map) return value.get(key) ?? null
  if (Array.isArray(value)) return (/^\d+$/.test(key) ? value[Number(key)] : undefined) ?? null
  return null
}
