import type { KubeObject } from './resource.ts'

/** Kubernetes: names of namespaces are labels of RFC 1123. */
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

export const isNamespaceName = (text: string): boolean => NAME.test(text)

/**
 * Whether this is the namespace that the object was made in. One that is gone, or younger than the object, is not: its own was ended by force, as
 * people do when a namespace does not end, and perhaps made again since.
 * @param namespace undefined when there is none of the name
 */
export const isNamespaceOf = <N extends KubeObject>(
  namespace: N | undefined,
  { metadata }: KubeObject,
): namespace is N =>
  namespace !== undefined && timeOf(namespace.metadata.creationTimestamp) <= timeOf(metadata.creationTimestamp)

const timeOf = (text: string | undefined): number => (text === undefined ? 0 : Date.parse(text))
