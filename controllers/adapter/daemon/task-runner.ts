/** Runs a task for one event, with what all runs of the task share. */

import type { TracedRequest } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { RestMapper } from '#operator/client/rest-mapper.ts'
import type { Transport as ApiTransport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { formatSelector, matches, type Selector } from '#operator/model/selector.ts'
import type { Access } from '../access.ts'
import { hrefOf, type ReconcileEvent } from '../events/reconcile-event.ts'
import type { HttpClient } from '../http/client.ts'
import type { InventoryStore } from '../inventory/inventory-store.ts'
import { ApiReader } from '../run/api-reader.ts'
import { leftStateOf } from '../run/leave-resource.ts'
import { Redactor } from '../run/redactor.ts'
import { ReportDedup } from '../run/report-dedup.ts'
import { metadataOf } from '../run/resources/object.ts'
import { type RunResult, run } from '../run/run.ts'
import type { JsonObject, Task } from '../task/task.ts'
import { httpTransport } from '../transports/http.ts'
import { KubernetesTransport } from '../transports/kubernetes.ts'
import { PodProblems } from '../transports/pod-problems.ts'
import type { ResourceTransports } from '../transports/transport.ts'
import type { AppliedObjects } from '../watch/applied-objects.ts'
import type { InferredDeletions } from './inferred-deletions.ts'

export interface TaskRunnerOptions {
  readonly task: Task
  readonly selector: Selector
  /** Of the HyperFleet API, with the task's token. */
  readonly apiClient: HttpClient
  /** Of other services, without it. */
  readonly externalClient: HttpClient
  /** In the name of the task's ServiceAccount. */
  readonly transport: ApiTransport
  readonly inventories: InventoryStore
  readonly retention?: AdapterTaskSpec['retention']
  /** Holds what would be deleted because many resources are lost at once. */
  readonly brake?: InferredDeletions
  readonly kinds: RestMapper
  readonly access: Access
  readonly config: JsonObject
  readonly clock: Clock
  /** What the runs take for the time; `clock` when undefined. */
  readonly runClock?: Clock
  readonly log: Logger
}

/** What runs tell the watches of. */
export type TaskWatches = Pick<AppliedObjects, 'ensureWatched' | 'ensureSharedWatched' | 'recordOwnWrite'>

export class TaskRunner {
  readonly #options: TaskRunnerOptions
  readonly #transports: ResourceTransports
  readonly #podProblems: PodProblems
  readonly #reportDedup = new ReportDedup()
  readonly #released = new Map<string, string>()

  constructor(options: TaskRunnerOptions, applied: TaskWatches) {
    this.#options = options
    const { transport, kinds, task, externalClient, access, inventories, clock, runClock = clock } = options
    this.#podProblems = new PodProblems(transport, runClock)
    this.#transports = {
      kubernetes: new KubernetesTransport({
        transport,
        kinds,
        namespace: inventories.namespace,
        adapter: task.adapter.name,
        others: inventories.others,
        // Also for objects that are only deleted: a manager that takes a deletion over has to see it end.
        onUse: (resource, namespace) => applied.ensureWatched(resource, namespace),
        onShared: (resource, namespace) => applied.ensureSharedWatched(resource, namespace),
        onApplied: (object) => applied.recordOwnWrite(object),
      }),
      http: httpTransport(externalClient, access.httpAllowlist),
    }
  }

  get #selection(): string | undefined {
    const { selector } = this.#options
    return selector.length > 0 ? formatSelector(selector) : undefined
  }

  /** Whether the task's selector selects a resource. */
  isSelected({ labels }: JsonObject): boolean {
    return matches(this.#options.selector, (labels ?? {}) as Record<string, string>)
  }

  /** Whether the resource was let go in this state of it, and its objects are kept. @param resource undefined when it is gone */
  hasLeft(id: string, resource: JsonObject | undefined): boolean {
    return this.#released.get(id) === leftStateOf(resource, this.#selection)
  }

  dropExpiredReports(): void {
    const { clock, runClock = clock } = this.#options
    this.#reportDedup.dropExpired(runClock.now().getTime())
  }

  /** @throws the signal's reason */
  async run(event: ReconcileEvent, signal: AbortSignal): Promise<RunResult> {
    const { task, apiClient, access, config, log, inventories, retention, brake } = this.#options
    const { clock, runClock = clock } = this.#options
    const requests: TracedRequest[] = []
    const tracedClient = apiClient.withTracing((request) => requests.push(request), event.traceparent)
    const { id } = event.data
    const inventory = inventories.of(event.data)
    try {
      return await run({
        task,
        event,
        config,
        environment: access.environment,
        redactor: new Redactor(Object.values(access.environment)),
        isSelected: (resource) => this.isSelected(resource),
        requests,
        context: {
          api: new ApiReader(tracedClient, hrefOf(event), id),
          transports: this.#transports,
          podProblems: this.#podProblems,
          inventory,
          leave: (key, object) => inventories.leave(key, metadataOf(object).uid, id, signal),
          recordedHref: inventories.recordedHref(id),
          retention,
          ...(brake && { brake: brake.of(id, () => inventory.mark ?? '') }),
          selection: this.#selection,
          reportDedup: this.#reportDedup,
          released: this.#released,
          readFile: access.readFile,
          clock: runClock,
          log: log.child({ resource: id }),
          signal,
        },
      })
    } finally {
      inventories.forget(id)
    }
  }
}
