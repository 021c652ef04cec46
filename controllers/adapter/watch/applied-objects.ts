/**
 * Watches the objects that the task has applied, so that a change of one starts a run at once (ADAPTER-26): a Job that completes, a
 * namespace that is gone, a ConfigMap that another client edited. The task's own writes are known by the resourceVersion that they got.
 */
import { detach } from '#lib/process/detach.ts'
import type { ReflectorEvent } from '#operator/client/reflector.ts'
import type { Transport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { KubeObject, Resource } from '#operator/model/resource.ts'
import type { EventData, ReconcileEvent } from '../events/reconcile-event.ts'
import { ADAPTER_LABEL, metadataOf, sharedLabel } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'
import { NamespaceWatches } from './namespace-watches.ts'

/** Changes within this time become one run. */
const DEBOUNCE_MS = 100

export interface AppliedObjectsOptions {
  /** In the name of the task's ServiceAccount, which needs list and watch for this to work. */
  readonly transport: Transport
  readonly adapter: string
  /** The resources for which the object was applied: the inventory's word, nothing that stands on the object. ADAPTER-65. */
  ownersOf(object: JsonObject): readonly EventData[]
  /** A run for the resource is under way. */
  isBusy(id: string): boolean
  /** The resource is being deleted: only the end of an object starts a run. */
  isDeleting(id: string): boolean
  /** Something that was applied for this resource has changed. */
  onChange(event: ReconcileEvent): void
  /** Changes of a kind are not seen, with why; undefined when they are again. */
  onWatchProblem(kind: string, problem: string | undefined): void
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/** A change that waits for others to come with it. */
interface PendingChange {
  readonly event: ReconcileEvent
  readonly uid: string
  /** Undefined: it is gone. */
  readonly resourceVersion: string | undefined
}

export class AppliedObjects {
  readonly #options: AppliedObjectsOptions
  readonly #watches: NamespaceWatches
  /** Of objects that are another adapter's, and carry its label. ADAPTER-97. */
  readonly #sharedWatches: NamespaceWatches
  /** What we have made of objects ourselves: resourceVersion by uid. */
  readonly #ownWrites = new Map<string, string>()
  readonly #changes = new Map<string, PendingChange[]>()

  constructor(options: AppliedObjectsOptions) {
    this.#options = options
    const { transport, adapter, onWatchProblem, clock, log, signal } = options
    const common = {
      transport,
      transform: stripObject,
      onEvent: (event: ReflectorEvent<KubeObject>) => this.#onWatchEvent(event),
      clock,
      log,
      signal,
    }
    this.#watches = new NamespaceWatches({ ...common, labelSelector: `${ADAPTER_LABEL}=${adapter}`, onWatchProblem })
    this.#sharedWatches = new NamespaceWatches({
      ...common,
      labelSelector: sharedLabel(adapter),
      onWatchProblem: (kind, problem) => onWatchProblem(`${kind} of other adapters`, problem),
    })
  }

  /** We have applied this. */
  recordOwnWrite(object: JsonObject): void {
    const { uid, resourceVersion } = metadataOf(object)
    if (uid !== undefined && resourceVersion !== undefined) this.#ownWrites.set(uid, resourceVersion)
  }

  /** We are about to work with objects of this kind. @param namespace undefined: in all of them, or the kind has none */
  ensureWatched(resource: Resource, namespace: string | undefined): void {
    this.#watches.ensureWatched(resource, namespace)
  }

  /** An object of this kind is another adapter's, and ours too. */
  ensureSharedWatched(resource: Resource, namespace: string | undefined): void {
    this.#sharedWatches.ensureWatched(resource, namespace)
  }

  /** Ends what is watched in vain. To be called now and then. */
  stopIdleWatches(): void {
    this.#watches.stopIdle()
    this.#sharedWatches.stopIdle()
  }

  /** Resolves when no watch goes on any more. */
  async stopped(): Promise<void> {
    await Promise.all([this.#watches.stopped(), this.#sharedWatches.stopped()])
  }

  #onWatchEvent(seen: ReflectorEvent<KubeObject>): void {
    if (seen.type === 'synced') return
    // What was there before us is the Sentinel's to ask for; what we made may have changed before the watch began.
    if (seen.type === 'listed' && !this.#ownWrites.has(seen.object.metadata.uid)) return
    const { uid, resourceVersion } = seen.object.metadata
    const isGone = seen.type === 'deleted'
    if (isGone) this.#ownWrites.delete(uid)
    for (const data of this.#options.ownersOf(seen.object as unknown as JsonObject)) {
      if (!isGone && this.#options.isDeleting(data.id)) continue
      const event: ReconcileEvent = { id: `${uid}.${resourceVersion}`, type: 'applied', traceparent: undefined, data }
      this.#recordChange({ event, uid, resourceVersion: isGone ? undefined : resourceVersion })
    }
  }

  #recordChange(change: PendingChange): void {
    const { id } = change.event.data
    const waiting = this.#changes.get(id)
    if (waiting !== undefined) waiting.push(change)
    else {
      this.#changes.set(id, [change])
      detach('waiting for more changes of what is applied', this.#flush(id))
    }
  }

  /** Waits for what comes with it, and for a run that may have made the change itself. */
  async #flush(id: string): Promise<void> {
    const { clock, signal, isBusy, onChange } = this.#options
    do await clock.sleep(DEBOUNCE_MS, signal)
    while (!signal.aborted && isBusy(id))
    const changes = this.#changes.get(id) ?? []
    this.#changes.delete(id)
    const foreign = changes.find(
      ({ uid, resourceVersion }) => this.#ownWrites.get(uid) !== resourceVersion || resourceVersion === undefined,
    )
    if (foreign !== undefined && !signal.aborted) onChange(foreign.event)
  }
}

/** Of an object only which one it is and in which state. */
const stripObject = ({ apiVersion, kind, metadata }: KubeObject): KubeObject => {
  const { name, namespace, uid, resourceVersion } = metadata
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion, ...(namespace !== undefined && { namespace }) },
    spec: undefined,
  }
}
