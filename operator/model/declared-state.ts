import type { KubeObject, ObjectMeta } from './resource.ts'

/** Annotations under this prefix are the runtime's own notes; a change of one is no change of the object. */
export const OWN_PREFIX = 'muster.dev/'

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** What a person declared: everything but the identity, the bookkeeping of the API server, the status and the runtime's own notes. RUNTIME-11. */
export type DeclaredState<O extends KubeObject = KubeObject> = Omit<
  O,
  'apiVersion' | 'kind' | 'metadata' | 'status'
> & {
  readonly metadata: Pick<ObjectMeta, 'labels' | 'annotations'>
}

/** The declared state of an object. It shares the object's parts: neither may be changed. */
export const declaredStateOf = <O extends KubeObject>(object: O): DeclaredState<O> => {
  const { apiVersion: _, kind: __, metadata, status: ___, ...declared } = object
  const annotations = declaredAnnotations(metadata.annotations)
  return {
    ...declared,
    metadata: {
      ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
  }
}

const declaredAnnotations = (annotations: ObjectMeta['annotations']): ObjectMeta['annotations'] => {
  if (annotations === undefined) return undefined
  const declared = Object.entries(annotations).filter(([key]) => !key.startsWith(OWN_PREFIX) && key !== LAST_APPLIED)
  return declared.length === 0 ? undefined : Object.fromEntries(declared)
}
