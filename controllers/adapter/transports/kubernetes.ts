/** Resources on the Kubernetes API, in the name of the task's ServiceAccount. */
import { createApi } from '#operator/client/api.ts'
import { ApiError, isConflict, NetworkError } from '#operator/client/errors.ts'
import { type RestMapper, UnknownKindError } from '#operator/client/rest-mapper.ts'
import type { Transport as ApiTransport } from '#operator/client/transport.ts'
import type { KubeObject, Resource } from '#operator/model/resource.ts'
import { pathOf } from '#operator/model/resource.ts'
import { apiVersionOf, describe, kindOf, metadataOf } from '../run/resources/object.ts'
import { TaskError } from '../run/task-error.ts'
import type { JsonObject } from '../task/task.ts'
import { explaining } from './explain-errors.ts'
import { type Sought, selectorText, type Target, type Transport } from './transport.ts'

export interface KubernetesOptions {
  /** In the name of the task's ServiceAccount. */
  readonly transport: ApiTransport
  readonly kinds: RestMapper
  /** Owns the fields that are applied. */
  readonly fieldManager: string
  /** Told where objects of which kind are applied or looked for, before it is done; undefined: everywhere, or the kind has no namespaces. */
  readonly onUse?: (resource: Resource, namespace: string | undefined) => void
  /** Told what is applied, so that a watch can tell our own changes from others'. */
  readonly onApplied?: (object: JsonObject) => void
}

export const kubernetesTransport = ({
  transport,
  kinds,
  fieldManager,
  onUse,
  onApplied,
}: KubernetesOptions): Transport => {
  const api = createApi(transport)

  const resourceOf = (manifest: JsonObject, signal: AbortSignal): Promise<Resource> =>
    kinds.get(apiVersionOf(manifest), kindOf(manifest), signal)

  const apply = async (target: Target, signal: AbortSignal): Promise<JsonObject> => {
    const resource = await resourceOf(target.manifest, signal)
    const { name, namespace } = metadataOf(target.manifest)
    needsNamespace(target, resource, namespace)
    onUse?.(resource, resource.scope === 'Namespaced' ? namespace : undefined)
    const applied = await transport.request<JsonObject>({
      method: 'PATCH',
      path: pathOf(resource, { name: name ?? '', ...(namespace !== undefined && { namespace }) }),
      contentType: 'application/apply-patch+yaml', // JSON is YAML
      // The fields of the manifest are the task's by its declaration: drift is put right. Others' fields are not in it.
      query: { fieldManager, force: true },
      body: target.manifest,
      signal,
    })
    onApplied?.(applied)
    return applied
  }

  const find = async (
    { name, outline, find: finding }: Sought,
    signal: AbortSignal,
  ): Promise<readonly JsonObject[]> => {
    if (finding.kind === 'self') throw new TypeError(`${name} has no discovery, which a Kubernetes object needs`)
    const resource = await resourceOf(outline, signal)
    const namespace = resource.scope === 'Namespaced' ? finding.namespace : undefined
    onUse?.(resource, namespace)
    const bound = api.withLimits({ signal })
    if (finding.kind === 'labels')
      return filtered(bound.list(resource, { namespace, labelSelector: selectorText(finding.labels) }))
    if (resource.scope === 'Namespaced' && namespace === undefined)
      return filtered(bound.list(resource, { fieldSelector: `metadata.name=${finding.name}` }))
    const found = await bound.get(resource, finding.name, namespace)
    return found === undefined ? [] : [plain(found)]
  }

  return {
    apply: (target, signal) =>
      explained('ApplyFailed', `${target.name} (${describe(target.manifest)}) can't be applied`, signal, () =>
        apply(target, signal),
      ),
    find: (sought, signal) =>
      explained('DiscoveryFailed', `${sought.name} can't be looked for`, signal, () => find(sought, signal)),
    delete: (sought, object, policy, signal) =>
      explained('DeleteFailed', `${sought.name} (${describe(object)}) can't be deleted`, signal, async () => {
        const resource = await resourceOf(sought.outline, signal)
        const { name = '', namespace, uid } = metadataOf(object)
        try {
          await api.withLimits({ signal }).delete(resource, name, namespace, { uid, propagation: policy })
        } catch (error) {
          // Another object of the same name by now: the one that was to go is gone.
          if (!isConflict(error)) throw error
        }
      }),
  }
}

const needsNamespace = (target: Target, { scope, kind }: Resource, namespace: string | undefined): void => {
  if (scope === 'Namespaced' && (namespace === undefined || namespace === ''))
    throw new TaskError(
      'InvalidManifest',
      `the manifest of ${target.name} has no metadata.namespace, which a ${kind} needs`,
    )
}

const filtered = async (objects: AsyncIterable<KubeObject>): Promise<readonly JsonObject[]> => {
  const found: JsonObject[] = []
  for await (const object of objects) found.push(plain(object))
  return found
}

const plain = (object: KubeObject): JsonObject => object as unknown as JsonObject

const explained = explaining((error, otherwise, what) => {
  if (error instanceof UnknownKindError) return new TaskError('InvalidManifest', error.message, { cause: error })
  if (error instanceof NetworkError) return new TaskError('Unreachable', `${what}: ${error.message}`, { cause: error })
  if (!(error instanceof ApiError)) return undefined
  const reason = error.status === 403 ? 'Forbidden' : otherwise
  return new TaskError(reason, `${what}: ${error.message}${mend(error)}`, { cause: error })
})

const mend = ({ status, message }: ApiError): string => {
  if (status === 422 && /immutable/.test(message))
    return ': set recreate_on_change: true to delete and create it instead'
  return ''
}
