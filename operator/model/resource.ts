/** Kubernetes objects and kinds as types, and the URL of each: the only place where group, version and plural become a path. */

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  /** RFC 3339, UTC. */
  readonly creationTimestamp?: string
  /** RFC 3339, UTC; set by the API server when deletion was asked for. */
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
}

export interface KubeObject<Spec = unknown, Status = unknown> {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly spec: Spec
  readonly status?: Status
}

/** A typed handle to one kind; the only place where group, version and plural are spelled. */
export interface Resource<O extends KubeObject = KubeObject> {
  /** '' for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly scope: 'Namespaced' | 'Cluster'
  readonly subresources: readonly ('status' | 'scale')[]
  /** Phantom: carries the object's type, never set. */
  readonly _object?: O
}

/** Describes a kind once, for everything that reads or writes it. */
export const defineResource = <Spec, Status = never>(
  description: Omit<Resource<KubeObject<Spec, Status>>, '_object'>,
): Resource<KubeObject<Spec, Status>> => Object.freeze({ ...description })

/** `group/version`, or `version` alone for the core group. */
export const apiVersionOf = ({ group, version }: Pick<Resource, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`

export const isSameKind = (left: Resource, right: Resource): boolean =>
  left.plural === right.plural && apiVersionOf(left) === apiVersionOf(right)

/** Where an object or a collection lives; without a name it is the collection. */
export interface Location {
  readonly namespace?: string
  readonly name?: string
  readonly subresource?: string
}

/** The request path of a collection, an object or a subresource, without query, e.g. `/apis/g/v1/namespaces/n/things/x/status`. */
export const pathOf = (resource: Resource, { namespace, name, subresource }: Location = {}): string => {
  const segments = resource.group === '' ? ['api', resource.version] : ['apis', resource.group, resource.version]
  if (resource.scope === 'Namespaced' && namespace !== undefined) segments.push('namespaces', namespace)
  segments.push(resource.plural)
  if (name !== undefined) segments.push(name)
  if (subresource !== undefined) segments.push(subresource)
  return `/${segments.map(encodeURIComponent).join('/')}`
}

/** `namespace/name`, or `name` for a cluster-scoped object: the key of caches and queues. */
export const keyOf = ({ namespace, name }: Pick<ObjectMeta, 'namespace' | 'name'>): string =>
  namespace === undefined ? name : `${namespace}/${name}`

/** Every field optional at every depth, `null` removes one: the shape of a merge patch (RFC 7386). */
export type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> | null }
    : T
