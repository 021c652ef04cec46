import type { KubeObject } from '../model/resource.ts'

/** core/v1 ObjectReference to the object that an event is about. */
export interface ObjectReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  readonly uid: string
}

export const referenceTo = ({ apiVersion, kind, metadata }: KubeObject): ObjectReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
  uid: metadata.uid,
})
