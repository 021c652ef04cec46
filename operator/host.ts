import { readFile } from 'node:fs/promises'
import dotI, { type ResourceEvent, ResourceEventType, type ResourceMeta, ResourceMetaImpl } from '@dot-i/k8s-operator'
import { load } from 'js-yaml'
import { createLogger } from '#lib/log/logger.ts'
import { detach } from '#lib/process/detach.ts'
import { type Api, createApi } from './client/api.ts'
import { isAlreadyExists, isNotFound } from './client/errors.ts'
import { type KubeConfigSource, loadKubeConfig } from './client/kubeconfig.ts'
import { reflect } from './client/reflector.ts'
import { createTransport, type Transport } from './client/transport.ts'
import { createEventQueue, type EventQueue } from './engine/event-queue.ts'
import { withDefaults } from './engine/settings.ts'
import { waitAtMost } from './engine/wait-at-most.ts'
import { systemClock } from './model/clock.ts'
import { toMilliseconds } from './model/duration.ts'
import type { Logger } from './model/log.ts'
import { type KubeObject, keyOf, pathOf, type Resource } from './model/resource.ts'
import { type Cache, type Operator, type OperatorOptions, type OperatorStatus, operator } from './operator.ts'

export { type ResourceEvent, ResourceEventType, type ResourceMeta }

export type HostOptions = Partial<OperatorOptions> & KubeConfigSource

type CrdSummary = Awaited<ReturnType<InstanceType<typeof dotI.default>['registerCustomResourceDefinition']>>

/**
 * The operator class of `@dot-i/k8s-operator`, with our controllers in it and our client below it. `start`, the logger,
 * the event types and `handleResourceFinalizer` are inherited; what is replaced, and why, is in docs/decisions/host.md.
 *
 * Give it `controllers` to run them, or extend it and call `watchResource` in `init`, as that package's README shows.
 */
export class ControllerHost extends dotI.default {
  readonly #options: HostOptions
  readonly #log: Logger
  readonly #transport: Transport
  readonly #api: Api
  readonly #stopping = new AbortController()
  readonly #deliveries = new Set<EventQueue<ResourceEvent>>()
  readonly #watches = new Set<Promise<unknown>>()
  readonly #resources = new Map<string, Resource>()
  readonly #operator: Operator | undefined
  #running: Promise<void> = Promise.resolve()

  /** @throws KubeConfigError */
  constructor(options: HostOptions = {}) {
    const log = options.log ?? createLogger()
    super(log)
    this.#options = options
    this.#log = log
    if (options.kubeconfig !== undefined || options.context !== undefined) this.kubeConfig = loadKubeConfig(options)
    this.#transport = options.transport ?? createTransport(this.kubeConfig, { metrics: options.metrics?.requests })
    this.#api = createApi(this.#transport).withLimits({ signal: this.#stopping.signal })
    const { controllers = [] } = options
    if (controllers.length > 0) {
      this.#operator = operator({ ...options, controllers, log, transport: this.#transport })
    }
  }

  /** Resolves when all caches of the controllers are filled. Never rejects. */
  get ready(): Promise<boolean> {
    return this.#operator?.ready ?? Promise.resolve(true)
  }

  /** Resolves when the controllers have stopped. @throws what onStartup throws */
  get ended(): Promise<void> {
    return this.#running
  }

  status(): OperatorStatus {
    return this.#operator?.status() ?? { synced: true, leading: undefined, problems: [] }
  }

  /** What is in memory of a kind; undefined when no controller watches it, or before `start`. */
  cache<O extends KubeObject>(resource: Resource<O>): Cache<O> | undefined {
    return this.#operator?.cache(resource)
  }

  /** Starts the controllers and does not wait for them: see `ready` and `ended`. */
  protected override async init(): Promise<void> {
    if (this.#operator === undefined) return
    this.#running = this.#operator.start()
    // `ended` gives the error to callers that ask; without this an unhandled rejection would end the process.
    this.#running.catch(() => {})
  }

  /** Resolves within 2 s, when no watch, handler or connection is left. */
  // oxlint-disable-next-line typescript/no-misused-promises -- the base class stops without waiting; callers may wait
  override async stop(): Promise<void> {
    this.#stopping.abort(new Error('the operator is stopping'))
    const stopTimeoutMs = toMilliseconds(withDefaults(this.#options.settings).execution.stopTimeout)
    const ended = Promise.all([...[...this.#deliveries].map((deliveries) => deliveries.stop()), ...this.#watches])
    await waitAtMost(ended, this.#stopping.signal, stopTimeoutMs)
    await this.#operator?.stop()
    if (this.#options.transport === undefined) await this.#transport.close()
  }

  /**
   * Calls `onEvent` for every object that is there and every change, in order for each object. It survives outages and
   * shows what was missed; a deletion that was missed, too. What `onEvent` throws is logged and the event comes again.
   * Resolves at once: the kind need not be installed yet.
   */
  protected override async watchResource(
    group: string,
    version: string,
    plural: string,
    onEvent: (event: ResourceEvent) => Promise<void>,
    namespace?: string,
  ): Promise<void> {
    const { clock = systemClock } = this.#options
    const { queueing } = withDefaults(this.#options.settings)
    const deliveries = createEventQueue<ResourceEvent>({
      concurrency: queueing.concurrency,
      errorDelays: queueing.errorDelays.map(toMilliseconds),
      clock,
      deliver: onEvent,
      onError: (key, error, delay) => {
        if (this.#stopping.signal.aborted) return
        this.#log.error(`the handler of ${plural} failed, trying again`, { object: key, err: error, delay })
      },
    })
    this.#deliveries.add(deliveries)
    const watching = this.#watch({ group, version, plural }, namespace, deliveries)
    this.#watches.add(watching)
    this.#log.info(`watching resource ${plural}.${group === '' ? version : `${group}/${version}`}`)
  }

  async #watch(
    names: Pick<Resource, 'group' | 'version' | 'plural'>,
    namespace: string | undefined,
    deliveries: EventQueue<ResourceEvent>,
  ): Promise<void> {
    const { clock = systemClock } = this.#options
    const { signal } = this.#stopping
    const kind = await this.#kindOf(names)
    if (kind === undefined) return
    const resource: Resource = { ...names, kind, scope: 'Namespaced', subresources: ['status'] }

    const deliver = (type: ResourceEventType, object: KubeObject) => {
      // A copy: handleResourceFinalizer changes the list of finalizers in place, and the cache must not see that.
      const copy = structuredClone(object)
      const meta = ResourceMetaImpl.createWithPlural(resource.plural, copy as unknown as ResourceEvent['object'])
      this.#resources.set(meta.id, resource)
      const event: ResourceEvent = { meta, type, object: copy as unknown as ResourceEvent['object'] }
      deliveries.add(keyOf(object.metadata), event)
    }
    const reflector = reflect(this.#transport, resource, {
      namespace,
      clock,
      log: this.#log,
      signal,
      inactivityTimeout: withDefaults(this.#options.settings).watching.inactivityTimeout,
      onEvent: (event) => {
        if (event.type === 'synced') return
        const type = { listed: 'Added', added: 'Added', modified: 'Modified', deleted: 'Deleted' } as const
        deliver(ResourceEventType[type[event.type]], event.object)
      },
    })
    await reflector.stopped
  }

  /** Asks the API server until it knows; undefined when stopped before. */
  async #kindOf({
    group,
    version,
    plural,
  }: Pick<Resource, 'group' | 'version' | 'plural'>): Promise<string | undefined> {
    const { clock = systemClock } = this.#options
    const { signal } = this.#stopping
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    for (let lastMessage = ''; !signal.aborted; await clock.sleep('1s', signal)) {
      try {
        const { resources } = await this.#transport.request<ResourceList>({ method: 'GET', path, signal })
        const found = resources.find(({ name }) => name === plural)
        if (found !== undefined) return found.kind
        throw new Error(`${path} has no ${plural}`)
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        if (message !== lastMessage && !signal.aborted) this.#log.warn(`${plural} can't be watched yet: ${message}`)
        lastMessage = message
      }
    }
    return undefined
  }

  protected override getCustomResourceApiUri(
    group: string,
    version: string,
    plural: string,
    namespace?: string,
  ): string {
    const scope = namespace === undefined ? 'Cluster' : 'Namespaced'
    const path = pathOf(
      { group, version, plural, kind: '', scope, subresources: [] },
      { ...(namespace && { namespace }) },
    )
    return this.#transport.server + path
  }

  /** Guarded: when another writer was faster it throws, and the handler is called again with the newer object. */
  protected override async setResourceFinalizers(meta: ResourceMeta, finalizers: string[]): Promise<void> {
    const resource = this.#resourceOf(meta)
    await this.#unlessGone(() => this.#api.patchIfUnchanged(resource, { metadata: meta }, { metadata: { finalizers } }))
  }

  /** Null when the object is gone. @throws ApiError, of status 409 when another writer was faster */
  protected override async setResourceStatus(meta: ResourceMeta, status: unknown): Promise<ResourceMeta | null> {
    const { name, namespace, resourceVersion } = meta
    const metadata = { name, resourceVersion, ...(namespace !== undefined && { namespace }) }
    return this.#unlessGone(() =>
      this.#api.replace<KubeObject>(this.#resourceOf(meta), { metadata, status } as never, 'status'),
    ).then((object) => metaOf(meta, object))
  }

  /** Null when the object is gone. @throws ApiError */
  protected override async patchResourceStatus(meta: ResourceMeta, status: unknown): Promise<ResourceMeta | null> {
    return this.#unlessGone(() =>
      this.#api.patch(this.#resourceOf(meta), {
        ...placeOf(meta),
        subresource: 'status',
        type: 'merge',
        body: { status },
      }),
    ).then((object) => metaOf(meta, object))
  }

  /** One that is there already stays as it is. @throws TypeError when the file holds something else, ApiError */
  protected override async registerCustomResourceDefinition(crdFile: string): Promise<CrdSummary> {
    const crd = load(await readFile(crdFile, 'utf8')) as CrdFile | undefined
    if (crd?.kind !== 'CustomResourceDefinition' || !crd.apiVersion?.startsWith('apiextensions.k8s.io/')) {
      throw new TypeError(`${crdFile} is not a CustomResourceDefinition of apiextensions.k8s.io`)
    }
    try {
      const path = `/apis/${crd.apiVersion}/customresourcedefinitions`
      await this.#transport.request({ method: 'POST', path, body: crd, signal: this.#stopping.signal })
      this.#log.info(`registered custom resource definition '${crd.metadata.name}'`)
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
    }
    return { group: crd.spec.group, versions: crd.spec.versions, plural: crd.spec.names.plural }
  }

  /** The kind that an event was about, with the scope that its object shows. */
  #resourceOf({ id, namespace }: ResourceMeta): Resource {
    const resource = this.#resources.get(id)
    if (resource === undefined) throw new TypeError(`${id} is not watched: call watchResource for it first`)
    return { ...resource, scope: namespace === undefined ? 'Cluster' : 'Namespaced' }
  }

  async #unlessGone<O>(request: () => Promise<O>): Promise<O | undefined> {
    try {
      return await request()
    } catch (error) {
      if (isNotFound(error) && error.details.name !== undefined) return undefined
      throw error
    }
  }
}

const placeOf = ({ name, namespace }: ResourceMeta) => ({ name, namespace })

const metaOf = ({ id }: ResourceMeta, object: KubeObject | undefined): ResourceMeta | null =>
  object === undefined ? null : ResourceMetaImpl.createWithId(id, object as unknown as ResourceEvent['object'])

/** meta/v1 APIResourceList. */
interface ResourceList {
  readonly resources: readonly { readonly name: string; readonly kind: string }[]
}

interface CrdFile {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly group: string
    readonly versions: CrdSummary['versions']
    readonly names: { readonly plural: string }
  }
}

/** `operator`, run by a ControllerHost: for a process with several controllers. */
export const hostedOperator = (options: OperatorOptions): Operator => {
  const host = new ControllerHost(options)
  return {
    ready: host.ready,
    status: () => host.status(),
    cache: (resource) => host.cache(resource),
    stop: () => host.stop(),
    async start(signal) {
      const stop = () => detach('stopping the controllers', host.stop())
      signal?.addEventListener('abort', stop, { once: true })
      if (signal?.aborted) stop()
      await host.start()
      await host.ended
      signal?.removeEventListener('abort', stop)
      await host.stop()
    },
  }
}
