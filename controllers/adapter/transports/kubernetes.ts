/** Resources on the Kubernetes API, in the name of the task's ServiceAccount. */
import { createApi } from '#operator/client/api.ts'
import { ApiError, isConflict, isForbidden, isNotFound, NetworkError } from '#operator/client/errors.ts'
import { type RestMapper, UnknownKindError } from '#operator/client/rest-mapper.ts'
import type { ApiRequest, Transport as ApiTransport } from '#operator/client/transport.ts'
import type { KubeObject, Resource } from '#operator/model/resource.ts'
import { pathOf, apiVersionOf as resourceApiVersion } from '#operator/model/resource.ts'
import type { OtherHolders } from '../inventory/other-holders.ts'
import { apiVersionOf, asShared, describeObject, kindOf, metadataOf, sharedLabel } from '../run/resources/object.ts'
import { TaskError } from '../run/task-error.ts'
import type { JsonObject } from '../task/task.ts'
import { explainErrors } from './explain-errors.ts'
import { fieldManagerOf, isAppliedByOthers, isHeldByAdapter, isWithAdapter } from './shared-objects.ts'
import {
  type DeletionOutcome,
  formatLabelSelector,
  type Lookup,
  type ResourceTransport,
  type Target,
} from './transport.ts'

export interface KubernetesOptions {
  /** In the name of the task's ServiceAccount. */
  readonly transport: ApiTransport
  readonly kinds: RestMapper
  /** Its field manager owns the fields that are applied. */
  readonly adapter: string
  /** Told where objects of which kind are applied or looked for, before it is done; undefined: everywhere, or the kind has no namespaces. */
  readonly onUse?: (resource: Resource, namespace: string | undefined) => void
  /** Told of an object that is another adapter's, and that this one applies too. */
  readonly onShared?: (resource: Resource, namespace: string | undefined) => void
  /** Other tasks that apply the object too; there are none when left out. */
  readonly others?: Pick<OtherHolders, 'find' | 'handOver'>
  /** Told what is applied, so that a watch can tell our own changes from others'. */
  readonly onApplied?: (object: JsonObject) => void
}

export const kubernetesTransport = ({
  transport,
  kinds,
  adapter,
  onUse,
  onShared,
  onApplied,
  others,
}: KubernetesOptions): ResourceTransport => {
  const fieldManager = fieldManagerOf(adapter)
  const api = createApi(transport)

  const resourceOf = (manifest: JsonObject, signal: AbortSignal): Promise<Resource> =>
    kinds.get(apiVersionOf(manifest), kindOf(manifest), signal)

  /** Of what is there already: a version that is not served any longer takes no object with it. ADAPTER-80. */
  const servedResourceOf = (identity: JsonObject, signal: AbortSignal): Promise<Resource> =>
    kinds.getServed(apiVersionOf(identity), kindOf(identity), signal)

  const apply = async (target: Target, signal: AbortSignal): Promise<JsonObject> => {
    const resource = await resourceOf(target.manifest, signal)
    const { namespace } = metadataOf(target.manifest)
    requireNamespace(target, resource, namespace)
    onUse?.(resource, resource.scope === 'Namespaced' ? namespace : undefined)
    const applied = await patchShared(resource, target.manifest, signal)
    noteShared(resource, applied)
    onApplied?.(applied)
    return applied
  }

  const noteShared = (resource: Resource, object: JsonObject): void => {
    const { namespace, labels = {} } = metadataOf(object)
    if (labels[sharedLabel(adapter)] !== undefined) onShared?.(resource, namespace)
  }

  const patch = (resource: Resource, body: JsonObject, force: boolean, signal: AbortSignal): Promise<JsonObject> => {
    const { name = '', namespace } = metadataOf(body)
    return request<JsonObject>(body, {
      method: 'PATCH',
      path: pathOf(resource, { name, ...(namespace !== undefined && { namespace }) }),
      contentType: 'application/apply-patch+yaml', // JSON is YAML
      query: { fieldManager, ...(force && { force }) },
      body,
      signal,
    })
  }

  /**
   * The fields of the manifest are the task's by its declaration: drift is put right, and others' fields are not in it. Only what another
   * task holds is not taken from it: that one would take it back, for ever. ADAPTER-88, ADAPTER-97.
   */
  const patchShared = async (resource: Resource, manifest: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
    try {
      return await patch(resource, manifest, false, signal)
    } catch (error) {
      if (!isConflict(error)) throw error
      const read = () => readObject(resource, manifest, signal)
      const holder = isHeldByAdapter(error) ? await others?.find(manifest, read, signal) : undefined
      if (holder === undefined) return patch(resource, manifest, true, signal)
      const shared = asShared(manifest, adapter)
      return patch(resource, shared, false, signal).catch((conflict) => {
        if (!isConflict(conflict)) throw conflict
        if (!isWithAdapter(conflict)) return patch(resource, shared, true, signal)
        const what = `${describeObject(manifest)} is applied by the AdapterTask ${holder} too, and not with the same fields`
        throw new TaskError('ApplyFailed', `${what}: ${conflict.message}`, { cause: conflict })
      })
    }
  }

  /** @throws ApiError, also when it is not there */
  const get = (
    resource: Resource,
    name: string,
    namespace: string | undefined,
    signal: AbortSignal,
  ): Promise<JsonObject> => {
    const path = pathOf(resource, { name, ...(namespace !== undefined && { namespace }) })
    return transport.request<JsonObject>({ method: 'GET', path, signal })
  }

  /** Undefined when it is not there, or may not be read. */
  const readObject = async (
    resource: Resource,
    manifest: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonObject | undefined> => {
    const { name = '', namespace } = metadataOf(manifest)
    try {
      return await get(resource, name, namespace, signal)
    } catch (error) {
      if (isNotFound(error) || isForbidden(error)) return undefined
      throw error
    }
  }

  /** It is the other task's alone from now on. Of two that leave it at the same time one meets a conflict, and looks again. */
  const leave = async (resource: Resource, object: JsonObject, signal: AbortSignal): Promise<DeletionOutcome> => {
    const { name, namespace, resourceVersion } = metadataOf(object)
    const metadata = { name, ...(namespace !== undefined && { namespace }), resourceVersion }
    const body = { apiVersion: resourceApiVersion(resource), kind: resource.kind, metadata } as JsonObject
    await patch(resource, body, true, signal)
    return 'left'
  }

  const find = async ({ name, identity, match }: Lookup, signal: AbortSignal): Promise<readonly JsonObject[]> => {
    if (match.kind === 'self') throw new TypeError(`${name} has no discovery, which a Kubernetes object needs`)
    const resource = await servedResourceOf(identity, signal)
    try {
      const found = await findIn(resource, match, signal)
      for (const object of found) noteShared(resource, object)
      return found
    } catch (error) {
      if (!isNotFound(error)) throw error
      if (isObjectAbsent(error, match)) return []
      // The path itself may be what is not there: then what was known of the kind says nothing about the object. ADAPTER-80.
      kinds.forget(apiVersionOf(identity))
      const served = await servedResourceOf(identity, signal)
      if (served.version !== resource.version) return await find({ name, identity, match } as Lookup, signal)
      // That a list is not there is no answer about what would be in it.
      if (match.kind === 'labels' || (resource.scope === 'Namespaced' && match.namespace === undefined)) throw error
      return []
    }
  }

  const findIn = async (
    resource: Resource,
    match: ObjectMatch,
    signal: AbortSignal,
  ): Promise<readonly JsonObject[]> => {
    const namespace = resource.scope === 'Namespaced' ? match.namespace : undefined
    onUse?.(resource, namespace)
    const bound = api.withLimits({ signal })
    if (match.kind === 'labels')
      return collect(bound.list(resource, { namespace, labelSelector: formatLabelSelector(match.labels) }))
    if (resource.scope === 'Namespaced' && namespace === undefined)
      return collect(bound.list(resource, { fieldSelector: `metadata.name=${match.name}` }))
    if (match.name === '') throw new TypeError('an empty name would be all objects of the kind')
    return [await get(resource, match.name, namespace, signal)]
  }

  /** Where the path is not there, what was known of the kind is asked for again by the next run. */
  const request = async <T>(identity: JsonObject, own: ApiRequest): Promise<T> => {
    try {
      return await transport.request<T>(own)
    } catch (error) {
      if (isNotFound(error)) kinds.forget(apiVersionOf(identity))
      throw error
    }
  }

  return {
    apply: (target, signal) =>
      explained('ApplyFailed', `${target.name} (${describeObject(target.manifest)}) can't be applied`, signal, () =>
        apply(target, signal),
      ),
    find: (lookup, signal) =>
      explained('DiscoveryFailed', `${lookup.name} can't be looked for`, signal, () => find(lookup, signal)),
    delete: (lookup, object, policy, signal) =>
      explained(
        'DeleteFailed',
        `${lookup.name} (${describeObject(object)}) can't be deleted`,
        signal,
        async (): Promise<DeletionOutcome> => {
          const resource = await servedResourceOf(lookup.identity, signal)
          const { name = '', namespace, uid, resourceVersion } = metadataOf(object)
          try {
            if (isAppliedByOthers(object, adapter) && (await others?.handOver(object, signal)) === true)
              return await leave(resource, object, signal)
            const preconditions = { uid, resourceVersion, propagation: policy }
            await api.withLimits({ signal }).delete(resource, name, namespace, preconditions)
          } catch (error) {
            if (!isConflict(error)) throw error
            return 'changed'
          }
          return 'asked'
        },
      ),
  }
}

const requireNamespace = (target: Target, { scope, kind }: Resource, namespace: string | undefined): void => {
  if (scope === 'Namespaced' && (namespace === undefined || namespace === ''))
    throw new TaskError(
      'InvalidManifest',
      `the manifest of ${target.name} has no metadata.namespace, which a ${kind} needs`,
    )
}

type ObjectMatch = Exclude<Lookup['match'], { readonly kind: 'self' }>

/** The server answers about this object, and not that it knows no such path. Kubernetes: NotFound names what is not found. */
const isObjectAbsent = (error: ApiError, match: ObjectMatch): boolean =>
  match.kind === 'name' && error.details.name === match.name

const collect = async (objects: AsyncIterable<KubeObject>): Promise<readonly JsonObject[]> => {
  const found: JsonObject[] = []
  for await (const object of objects) found.push(toJsonObject(object))
  return found
}

const toJsonObject = (object: KubeObject): JsonObject => object as unknown as JsonObject

const explained = explainErrors((error, otherwise, what) => {
  if (error instanceof UnknownKindError) return new TaskError('InvalidManifest', error.message, { cause: error })
  if (error instanceof NetworkError) return new TaskError('Unreachable', `${what}: ${error.message}`, { cause: error })
  if (!(error instanceof ApiError)) return undefined
  const reason = error.status === 403 ? 'Forbidden' : otherwise
  return new TaskError(reason, `${what}: ${error.message}${remedy(error)}`, { cause: error })
})

const remedy = ({ status, message }: ApiError): string => {
  if (status === 422 && /immutable/.test(message))
    return ': set recreate_on_change: true to delete and create it instead'
  return ''
}
