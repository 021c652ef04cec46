import Type from 'typebox'

/** A name of an object in the same namespace, or of a cluster-scoped one. Kubernetes: LocalObjectReference. */
export const reference = (options: { description: string; of: string }) =>
  Type.Object(
    {
      name: Type.String({ description: `The name of the ${options.of}.`, minLength: 1, maxLength: 253 }),
    },
    { description: options.description },
  )

/** A name and its namespace. */
export const namespacedReference = (options: { description: string; of: string }) =>
  Type.Object(
    {
      name: Type.String({ description: `The name of the ${options.of}.`, minLength: 1, maxLength: 253 }),
      namespace: Type.String({ description: `The namespace of the ${options.of}.`, minLength: 1, maxLength: 63 }),
    },
    { description: options.description },
  )
