/** Resources on the Kubernetes API, in the name of the task's ServiceAccount. */
import { Namespace } from '#apis/kubernetes.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { ApiError, isConflict, isForbidden, isNotFound } from '#operator/client/errors.ts'
import type { RestMapper } from '#operator/client/rest-mapper.ts'
import type { Transport as ApiTransport } from '#operator/client/transport.ts'
import type { KubeObject, Resource } from '#operator/model/resource.ts'
import { pathOf } from '#operator/model/resource.ts'
import type { OtherHolders } from '../inventory/other-holders.ts'
import { apiVersionOf, describeObject, kindOf, metadataOf, sharedLabel, withUid } from '../run/resources/object.ts'
import { TaskError } from '../run/task-error.ts'
import type { JsonObject, PropagationPolicy } from '../task/task.ts'
import { endsWithout } from './ending-namespace.ts'
import { explained } from './explain-kubernetes-errors.ts'
import { isGone, isObjectAbsent, isReplaced } from './kubernetes-answers.ts'
import { ServerSideApply } from './server-side-apply.ts'
import { type Patched, SharedApply, type SharedApplyOptions } from './shared-apply.ts'
import { isAppliedByOthers, managersOf, type OwnManagers, ownManagers } from './shared-objects.ts'
import {
  type DeletionOutcome,
  formatLabelSelector,
  type Lookup,
  type NamedMatch,
  ObjectReplacedError,
  type ResourceTransport,
  type Target,
} from './transport.ts'

export interface KubernetesOptions {
  /** In the name of the task's ServiceAccount. */
  readonly transport: ApiTransport
  readonly kinds: RestMapper
  /** Of the task. */
  readonly namespace: string
  /** Its field manager owns the fields that are applied. */
  readonly adapter: string
  /** Told where objects of which kind are applied or looked for, before it is done; undefined: everywhere, or the kind has no namespaces. */
  readonly onUse?: (resource: Resource, namespace: string | undefined) => void
  /** Told of an object that is another adapter's, and that this one applies too. */
  readonly onShared?: (resource: Resource, namespace: string | undefined) => void
  /** Other tasks that apply the object too; there are none when left out. */
  readonly others?: Pick<OtherHolders, 'find' | 'findAtWork' | 'findElsewhere' | 'handOver' | 'isOwn' | 'noteShared'>
  /** Told what is applied, so that a watch can tell our own changes from others'. */
  readonly onApplied?: (object: JsonObject) => void
}

/** Objects are applied, found and deleted in the name of the task's ServiceAccount. */
export class KubernetesTransport implements ResourceTransport {
  readonly #options: KubernetesOptions
  readonly #api: Api
  /** Field managers of the task: as it applies, and as releases before did. */
  readonly #managers: OwnManagers
  readonly #server: ServerSideApply
  readonly #shared: SharedApply

  constructor(options: KubernetesOptions) {
    this.#options = options
    this.#api = createApi(options.transport)
    this.#managers = ownManagers(options.namespace, options.adapter)
    this.#server = new ServerSideApply({ ...options, managers: this.#managers })
    const get: SharedApplyOptions['get'] = (...where) => this.#get(...where)
    this.#shared = new SharedApply({ ...options, server: this.#server, get })
  }

  apply(target: Target, signal: AbortSignal): Promise<JsonObject> {
    const what = `${target.name} (${describeObject(target.manifest)}) can't be applied`
    return explained('ApplyFailed', what, signal, () => this.#apply(target, signal))
  }

  find(lookup: Lookup, signal: AbortSignal): Promise<readonly JsonObject[]> {
    return explained('DiscoveryFailed', `${lookup.name} can't be looked for`, signal, () => this.#find(lookup, signal))
  }

  delete(
    lookup: Lookup,
    object: JsonObject,
    policy: PropagationPolicy,
    signal: AbortSignal,
    isShared = false,
  ): Promise<DeletionOutcome> {
    const what = `${lookup.name} (${describeObject(object)}) can't be deleted`
    return explained('DeleteFailed', what, signal, () => this.#delete(lookup, object, policy, signal, isShared))
  }

  isShared(object: JsonObject): boolean {
    return isAppliedByOthers(object, this.#managers)
  }

  async #apply(target: Target, signal: AbortSignal): Promise<JsonObject> {
    const { name, manifest } = target
    const resource = await this.#options.kinds.get(apiVersionOf(manifest), kindOf(manifest), signal)
    const { namespace } = metadataOf(manifest)
    requireNamespace(name, resource, namespace)
    this.#options.onUse?.(resource, resource.scope === 'Namespaced' ? namespace : undefined)
    const { object: patched, isBeside } = await this.#patchRecorded(resource, target, signal)
    const isJoined = await this.#shared.join(resource, patched, target, signal)
    const applied = await this.#server.dropFormer(resource, patched, signal)
    if (isBeside) target.onShared?.('Beside')
    else if (isJoined || this.isShared(applied)) target.onShared?.('First')
    this.#noteShared(resource, applied)
    this.#options.onApplied?.(applied)
    return applied
  }

  /** What the inventory has is meant, and not what came under its name since. @throws ObjectReplacedError. ADAPTER-120 */
  async #patchRecorded(resource: Resource, target: Target, signal: AbortSignal): Promise<Patched> {
    const { manifest, recordedUid: uid } = target
    if (uid === undefined) return this.#shared.patch(resource, target, signal)
    try {
      return await this.#shared.patch(resource, { ...target, manifest: withUid(manifest, uid) }, signal)
    } catch (error) {
      if (error instanceof ApiError && isReplaced(error)) throw new ObjectReplacedError()
      throw error
    }
  }

  async #find(lookup: Lookup, signal: AbortSignal): Promise<readonly JsonObject[]> {
    const { name, identity, match } = lookup
    if (match.kind === 'self') throw new TypeError(`${name} has no discovery, which a Kubernetes object needs`)
    const resource = await this.#servedResource(identity, signal)
    try {
      const found = await this.#findIn(resource, match, signal)
      for (const object of found) this.#noteShared(resource, object)
      return found
    } catch (error) {
      if (isForbidden(error) && (await this.#isGoneWithNamespace(resource, match, signal))) return []
      if (!isNotFound(error)) throw error
      if (isObjectAbsent(error, match)) return []
      // The path itself may be what is not there: then what was known of the kind says nothing about the object. ADAPTER-80.
      this.#options.kinds.forget(apiVersionOf(identity))
      const served = await this.#servedResource(identity, signal)
      if (served.version !== resource.version) return await this.#find(lookup, signal)
      // That a list is not there is no answer about what would be in it.
      if (match.kind === 'labels' || (resource.scope === 'Namespaced' && match.namespace === undefined)) throw error
      return []
    }
  }

  /** Rights of an account in a namespace end with it: then the namespace tells. ADAPTER-131. */
  async #isGoneWithNamespace(resource: Resource, { namespace }: NamedMatch, signal: AbortSignal): Promise<boolean> {
    if (resource.scope !== 'Namespaced' || namespace === undefined) return false
    const path = pathOf(Namespace, { name: namespace })
    try {
      return endsWithout(await this.#options.transport.request({ method: 'GET', path, signal }), resource)
    } catch (error) {
      if (isForbidden(error)) return false
      if (isNotFound(error)) return true
      throw error
    }
  }

  async #delete(
    lookup: Lookup,
    object: JsonObject,
    propagation: PropagationPolicy,
    signal: AbortSignal,
    isShared: boolean,
  ): Promise<DeletionOutcome> {
    const resource = await this.#servedResource(lookup.identity, signal)
    const { name = '', namespace, uid, resourceVersion } = metadataOf(object)
    try {
      if (isShared && (await this.#isLeft(object, signal))) return await this.#server.leave(resource, object, signal)
      const path = pathOf(resource, { name, ...(namespace !== undefined && { namespace }) })
      const body = { preconditions: { uid, resourceVersion }, propagationPolicy: propagation }
      const answer = await this.#options.transport.request({ method: 'DELETE', path, body, signal })
      return isGone(answer, uid) ? 'gone' : 'asked'
    } catch (error) {
      if (isNotFound(error)) return 'asked'
      if (!isConflict(error)) throw error
      return 'changed'
    }
  }

  /** Another task has it. ADAPTER-88, ADAPTER-112. */
  async #isLeft(object: JsonObject, signal: AbortSignal): Promise<boolean> {
    const { others } = this.#options
    if (others === undefined) return false
    if (await others.handOver(object, signal)) return true
    const elsewhere = await others.findElsewhere(object, managersOf(object), async () => object, signal)
    if (elsewhere?.isCertain === false)
      throw new TaskError('DeleteFailed', `${describeObject(object)} can't be deleted: ${elsewhere.description}`)
    return elsewhere !== undefined
  }

  /** Of what is there already: a version that is not served any longer takes no object with it. ADAPTER-80. */
  #servedResource(identity: JsonObject, signal: AbortSignal): Promise<Resource> {
    return this.#options.kinds.getServed(apiVersionOf(identity), kindOf(identity), signal)
  }

  #noteShared(resource: Resource, object: JsonObject): void {
    const { namespace, labels = {} } = metadataOf(object)
    if (labels[sharedLabel(this.#options.adapter)] !== undefined) this.#options.onShared?.(resource, namespace)
  }

  async #findIn(resource: Resource, match: NamedMatch, signal: AbortSignal): Promise<readonly JsonObject[]> {
    const namespace = resource.scope === 'Namespaced' ? match.namespace : undefined
    this.#options.onUse?.(resource, namespace)
    const bound = this.#api.withLimits({ signal })
    if (match.kind === 'labels')
      return collect(bound.list(resource, { namespace, labelSelector: formatLabelSelector(match.labels) }))
    if (resource.scope === 'Namespaced' && namespace === undefined)
      return collect(bound.list(resource, { fieldSelector: `metadata.name=${match.name}` }))
    if (match.name === '') throw new TypeError('an empty name would be all objects of the kind')
    return [await this.#get(resource, match.name, namespace, signal)]
  }

  /** @throws ApiError, also when it is not there */
  #get(resource: Resource, name: string, namespace: string | undefined, signal: AbortSignal): Promise<JsonObject> {
    const path = pathOf(resource, { name, ...(namespace !== undefined && { namespace }) })
    return this.#options.transport.request<JsonObject>({ method: 'GET', path, signal })
  }
}

const requireNamespace = (name: string, { scope, kind }: Resource, namespace: string | undefined): void => {
  if (scope === 'Namespaced' && (namespace === undefined || namespace === ''))
    throw new TaskError('InvalidManifest', `the manifest of ${name} has no metadata.namespace, which a ${kind} needs`)
}

const collect = async (objects: AsyncIterable<KubeObject>): Promise<readonly JsonObject[]> => {
  const found: JsonObject[] = []
  for await (const object of objects) found.push(toJsonObject(object))
  return found
}

const toJsonObject = (object: KubeObject): JsonObject => object as unknown as JsonObject
