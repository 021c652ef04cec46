import type { TSchema, TUnsafe } from 'typebox'

/**
 * A value of several shapes, for which a structural schema has no words: the API server keeps it as it is, and its reader
 * checks it against the shapes. Kubernetes: `x-kubernetes-preserve-unknown-fields`.
 * @param shapes What it may be; anything when there are none.
 */
export const free = <T = unknown>(options: { description: string }, ...shapes: readonly TSchema[]): TUnsafe<T> =>
  asSchema<T>({
    ...options,
    'x-kubernetes-preserve-unknown-fields': true,
    ...(shapes.length > 0 && { anyOf: shapes }),
  })

/**
 * An object of any fields, kept as it is. Unlike what has no type at all, rules can see the field that holds it.
 */
export const freeObject = (options: { description: string }): TUnsafe<Readonly<Record<string, unknown>>> =>
  asSchema<Readonly<Record<string, unknown>>>({
    type: 'object',
    ...options,
    'x-kubernetes-preserve-unknown-fields': true,
  })

/**
 * What Type.Unsafe does, without the library: this file is reached both from the adapter, which has it while it runs, and from
 * controllers that must not load it (docs/decisions/bundle.md).
 */
const asSchema = <T>(schema: object): TUnsafe<T> => schema as TUnsafe<T>
