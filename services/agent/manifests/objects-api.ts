/** Objects of any kind on one API server, applied and deleted for one Deployment. AGENT-12. */
import { errorOf } from '#lib/errors/error-of.ts'
import { createApi } from '#operator/client/api.ts'
import { RestMapper } from '#operator/client/rest-mapper.ts'
import type { Transport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'
import { type KubeObject, pathOf, type Resource } from '#operator/model/resource.ts'
import { AGENT_ERRORS } from '../errors.ts'
import type { Manifest } from '../workload.ts'
import { fieldManagerOf, formatObjectName, nameOf, type ObjectName, OWNER_ANNOTATION, withOwner } from './objects.ts'

/** An object of a namespace that does not say which. */
export class NoNamespaceError extends errorOf(AGENT_ERRORS, 'NoNamespaceError') {
  constructor(name: ObjectName) {
    super(`${formatObjectName(name)} has no metadata.namespace, which it needs`)
  }
}

/** Every method throws ApiError, NetworkError, UnknownKindError or NoNamespaceError, or the signal's reason. */
export interface ObjectsApi {
  /** Server-side apply. What others own and have set otherwise is a conflict (ApiError 409), never overwritten. */
  apply(manifest: Manifest, deployment: string, signal: AbortSignal): Promise<void>
  /** Undefined when there is none. */
  read(name: ObjectName, signal: AbortSignal): Promise<KubeObject | undefined>
  /** Asks for its deletion if it still belongs to the Deployment; whether it is gone, or another's. */
  remove(name: ObjectName, deployment: string, signal: AbortSignal): Promise<boolean>
}

export const createObjectsApi = (transport: Transport, clock: Clock): ObjectsApi => {
  const kinds = new RestMapper(transport, clock)
  const api = createApi(transport)

  const resolve = async (
    name: ObjectName,
    signal: AbortSignal,
  ): Promise<{ resource: Resource; namespace?: string }> => {
    const resource = await kinds.get(name.apiVersion, name.kind, signal)
    if (resource.scope === 'Cluster') return { resource }
    if (name.namespace === undefined) throw new NoNamespaceError(name)
    return { resource, namespace: name.namespace }
  }

  const read = async (name: ObjectName, signal: AbortSignal): Promise<KubeObject | undefined> => {
    const { resource, namespace } = await resolve(name, signal)
    const found = await api.withLimits({ signal }).get(resource, name.name, namespace)
    return found && { ...found, apiVersion: name.apiVersion, kind: name.kind }
  }

  return {
    async apply(manifest, deployment, signal) {
      const { resource, namespace } = await resolve(nameOf(manifest), signal)
      await transport.request({
        method: 'PATCH',
        path: pathOf(resource, { name: manifest.metadata.name, ...(namespace !== undefined && { namespace }) }),
        contentType: 'application/apply-patch+yaml', // JSON is YAML
        query: { fieldManager: fieldManagerOf(deployment) },
        body: withOwner(manifest, deployment),
        signal,
      })
    },
    read,
    async remove(name, deployment, signal) {
      const found = await read(name, signal)
      if (found?.metadata.annotations?.[OWNER_ANNOTATION] !== deployment) return true
      const { uid, deletionTimestamp } = found.metadata
      if (deletionTimestamp === undefined) {
        const { resource, namespace } = await resolve(name, signal)
        await api.withLimits({ signal }).delete(resource, name.name, namespace, { uid, propagation: 'Background' })
      }
      return (await read(name, signal)) === undefined
    },
  }
}
