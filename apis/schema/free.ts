import Type, { type TSchema, type TUnsafe } from 'typebox'

/**
 * A value of several shapes, for which a structural schema has no words: the API server keeps it as it is, and whoever reads it
 * checks it against the shapes. Kubernetes: `x-kubernetes-preserve-unknown-fields`.
 * @param shapes What it may be; anything when there are none.
 */
export const free = <T = unknown>(options: { description: string }, ...shapes: readonly TSchema[]): TUnsafe<T> =>
  Type.Unsafe<T>({
    ...options,
    'x-kubernetes-preserve-unknown-fields': true,
    ...(shapes.length > 0 && { anyOf: shapes }),
  })
