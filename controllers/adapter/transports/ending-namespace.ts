/**
 * What a namespace that ends says of what is still in it. Rights by a RoleBinding end with that, so that an object which is held no longer can't
 * be seen to be gone. ADAPTER-131.
 */
import type { Resource } from '#operator/model/resource.ts'

/** As far as it is read. */
export interface EndingNamespace {
  readonly metadata?: { readonly deletionTimestamp?: string }
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
  }
}

/** Kubernetes' controller of namespaces has not come to all kinds. */
const INCOMPLETE = [
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceDeletionGroupVersionParsingFailure',
  'NamespaceDeletionContentFailure',
]
/** Kubernetes has no field for it: `Some resources are remaining: pods. has 1 resource instances, jobs.batch has 2 resource instances`. */
const REMAINING = /([^\s,.]+)\.(\S*) has \d+ resource instances/g

/**
 * It is being deleted, all kinds in it have been, and none of this one is left: nor will there be, as nothing is made in such a namespace. False
 * also when it does not say so. Kubernetes deletes pods before all else and says meanwhile that nothing, or pods alone, remains, though nothing else
 * was looked at (feature OrderedNamespaceDeletion): only another kind that remains shows that it has come to all.
 */
export const endsWithout = (
  { metadata, status }: EndingNamespace,
  { group, plural }: Pick<Resource, 'group' | 'plural'>,
): boolean => {
  const conditions = new Map((status?.conditions ?? []).map((one) => [one.type, one]))
  if (metadata?.deletionTimestamp === undefined) return false
  if (INCOMPLETE.some((type) => conditions.get(type)?.status !== 'False')) return false
  const { message = '' } = conditions.get('NamespaceContentRemaining') ?? {}
  const left = [...message.matchAll(REMAINING)].map(([, name, of]) => `${name}.${of}`)
  return left.some((kind) => kind !== 'pods.') && !left.includes(`${plural}.${group}`)
}
