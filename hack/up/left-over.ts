/** What a pool's clusters left behind in Kubernetes, whatever kind it is of. */
import type { Kubectl } from '../cluster/kubectl.ts'

/** An object as far as it is looked at here; what else it has is searched for names. */
interface Listed {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly managedFields?: unknown }
  readonly status?: unknown
}

/** Those that only tell of what was, and what can't be of a cluster and is large. */
const SKIPPED = /^(events|customresourcedefinitions|componentstatuses|apiservices)(\.|$)/

/**
 * Objects that are of a cluster of the pool, or name one: all but their status, which may tell of one that is gone.
 * @param pool its clusters have its name and a suffix of five letters and digits, which make no word
 * @returns each with its namespace, in words
 */
export const leftOverOf = (pool: string, objects: readonly Listed[]): readonly string[] => {
  const cluster = new RegExp(`(?<![a-z0-9-])${RegExp.escape(pool)}-[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9])`)
  return objects.filter((object) => cluster.test(JSON.stringify(declared(object)))).map(describe)
}

const declared = (object: Listed): object => ({
  ...object,
  status: undefined,
  metadata: { ...object.metadata, managedFields: undefined },
})

const describe = ({ kind, metadata: { name, namespace } }: Listed): string =>
  `${kind}/${name}${namespace === undefined ? '' : ` in ${namespace}`}`

/** Every object of every kind that can be listed, but for those that only tell of others. @throws ProcessError */
export const listEverything = async (kubectl: Kubectl): Promise<readonly Listed[]> => {
  const kinds = (await kubectl(['api-resources', '--verbs=list', '--output=name']))
    .split('\n')
    .filter((kind) => kind !== '' && !SKIPPED.test(kind))
  const found = await kubectl(['get', kinds.join(','), '--all-namespaces', '--output=json'])
  return (JSON.parse(found) as { readonly items: readonly Listed[] }).items
}
