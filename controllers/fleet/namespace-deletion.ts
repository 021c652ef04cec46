import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Namespace } from '#apis/kubernetes.ts'
import type { Api } from '#operator/client/api.ts'
import { isForbidden } from '#operator/client/errors.ts'
import { isNamespaceOf } from '#operator/model/namespace.ts'

/** Whether a Deployment goes with its namespace. FLEET-77. @throws ApiError, NetworkError */
export const isNamespaceDeleted = async (api: Pick<Api, 'get'>, object: Deployment): Promise<boolean> => {
  try {
    const namespace = await api.get(Namespace, object.metadata.namespace ?? '')
    return !isNamespaceOf(namespace, object) || namespace.metadata.deletionTimestamp !== undefined
  } catch (error) {
    // An operator of one namespace may not know: then the Deployment's own deletion is a person's word.
    if (isForbidden(error)) return false
    throw error
  }
}
