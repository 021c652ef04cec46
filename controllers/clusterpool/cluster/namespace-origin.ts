/** Which namespaces pools made: POOL-59. The label with a pool's uid says whose one is, and any user with the right to label namespaces can write it. */
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import type { Namespace } from '#apis/kubernetes.ts'

/** Kubernetes names the writer of a field by the user agent, up to its first slash; that of managers is `muster/<version>`. */
const MANAGER = 'muster'

interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
  readonly time?: string
  readonly fieldsV1?: { readonly 'f:metadata'?: { readonly 'f:labels'?: Readonly<Record<string, unknown>> } }
}

/**
 * Was the label written by a manager, in the request that made the namespace? One that a person labelled later, or copied, was not.
 * @param namespace As the API server has it: caches leave `managedFields` out.
 */
export const isMadeByPool = ({ metadata }: Namespace): boolean => {
  const { managedFields = [] } = metadata as { readonly managedFields?: readonly ManagedFields[] }
  return managedFields.some(
    ({ manager, operation, time, fieldsV1 }) =>
      manager === MANAGER &&
      operation === 'Update' &&
      time === metadata.creationTimestamp &&
      fieldsV1?.['f:metadata']?.['f:labels']?.[`f:${POOL_LABELS.uid}`] !== undefined,
  )
}
