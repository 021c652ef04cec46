import type { ObjectMeta } from '#operator/model/resource.ts'

export interface NamespacedName {
  readonly namespace: string
  readonly name: string
}

/** `namespace/name`. */
export const keyOf = ({ namespace, name }: NamespacedName): string => `${namespace}/${name}`

export const isSame = (a: NamespacedName, b: NamespacedName): boolean =>
  a.name === b.name && a.namespace === b.namespace

export const namespaceOf = ({ namespace }: ObjectMeta): string => namespace ?? ''
