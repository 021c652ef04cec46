import type { KubeObject, Resource } from '../model/resource.ts'
import type { Definition, Watched } from './definition.ts'
import type { Informer, Informers } from './informers.ts'

/** What a controller watches. */
export interface PreparedController {
  readonly definition: Definition
  /** Of its own kind, one a namespace or one for all. */
  readonly own: readonly Informer[]
  /** Of the kinds that wake it. */
  readonly watched: readonly { readonly watched: Watched; readonly informers: readonly Informer[] }[]
}

/** Opens the watches of a controller, and fills its indexes from them. */
export const prepareController = (
  definition: Definition,
  sources: Informers,
  namespaces: readonly string[] | undefined,
): PreparedController => {
  const places = (resource: Resource) =>
    resource.scope === 'Cluster' || namespaces === undefined ? [undefined] : [...new Set(namespaces)]
  const open = (
    resource: Resource,
    rest: { readonly labelSelector?: string | undefined; transform?(object: KubeObject): KubeObject },
    everywhere = false,
  ) => (everywhere ? [undefined] : places(resource)).map((namespace) => sources.open({ resource, namespace, ...rest }))

  const own = open(definition.resource, definition.transform === undefined ? {} : { transform: definition.transform })
  for (const index of definition.indexes) index.bind(own.map(({ store }) => store))
  const watched = definition.watches.map((other) => {
    const { resource, labelSelector, everywhere, indexes } = other
    const projection = other.transform === undefined ? {} : { transform: other.transform }
    const opened = open(resource, { labelSelector, ...projection }, everywhere)
    for (const index of indexes) index.bind(opened.map(({ store }) => store))
    return { watched: other, informers: opened }
  })
  return { definition, own, watched }
}

/** @throws TypeError */
export const refuseDuplicates = (definitions: readonly Definition[]): void => {
  if (definitions.length === 0) throw new TypeError('an operator needs at least one controller')
  const names = new Set<string>()
  for (const { name } of definitions) {
    if (names.has(name)) throw new TypeError(`two controllers are called ${name}: give one of them another name`)
    names.add(name)
  }
}
