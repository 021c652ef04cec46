/**
 * Two tasks, each with a manager of its own, two clusters, and objects that several of these four have, all in memory. Runs go on side by
 * side, requests are cut before or after they are done, and managers are killed there.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Access } from '#controllers/adapter/access.ts'
import { TaskRunner, type TaskRunnerOptions } from '#controllers/adapter/daemon/task-runner.ts'
import { instantClock } from '#controllers/adapter/dry-run/dry-run.ts'
import { parseEvent } from '#controllers/adapter/events/reconcile-event.ts'
import { HttpClient } from '#controllers/adapter/http/client.ts'
import { InventoryStore } from '#controllers/adapter/inventory/inventory-store.ts'
import { taskLanguages } from '#controllers/adapter/language/task-languages.ts'
import { INVENTORY_ANNOTATION } from '#controllers/adapter/run/resources/object.ts'
import { loadTask } from '#controllers/adapter/task/load-task.ts'
import { httpAllowlist } from '#lib/egress/http-allowlist.ts'
import { once } from '#lib/once.ts'
import { ApiError, NetworkError } from '#operator/client/errors.ts'
import { RestMapper } from '#operator/client/rest-mapper.ts'
import type { ApiRequest, Transport } from '#operator/client/transport.ts'
import { silent } from '#operator/model/log.ts'
import { selectorOf } from '#operator/model/selector.ts'
import { MemoryCluster, nameOf, type StoredObject } from './memory-cluster.ts'
import { SharedRecords } from './shared-records.ts'
import {
  type ClusterId,
  type Fault,
  type Forgery,
  type Run,
  resourcesOf,
  type SharedWorldOptions,
  type TaskName,
  taskPath,
} from './shared-tasks.ts'

interface Manager {
  readonly inventories: InventoryStore
  readonly transport: Transport
  readonly runner: TaskRunner
  readonly killed: AbortController
}

export class SharedWorld {
  readonly #clock = instantClock(new Date('2026-01-31T12:00:00Z'))
  readonly cluster = new MemoryCluster()
  readonly #records: SharedRecords
  readonly #managers = new Map<TaskName, Manager>()
  /** The run that sends a request. */
  readonly #current = new AsyncLocalStorage<Run>()
  /** Which runs have applied an object, by its uid. */
  readonly #appliers = new Map<string, Map<string, Run>>()
  /** Objects that were deleted although a run of another resource or task that is served had applied them. */
  readonly taken: string[] = []
  /** Nothing is deleted for a resource that lives and is not selected. */
  isHeld = false
  #options: Required<SharedWorldOptions>
  #sent = 0
  #fault: Fault | undefined
  readonly #counts = new Map<TaskName, number>()
  #runOthers: () => Promise<unknown> = async () => {}

  constructor(options: SharedWorldOptions) {
    this.#options = {
      tasks: { left: 'n', right: 'n' },
      readsAll: false,
      colours: {},
      retention: {},
      recreates: false,
      backwards: [],
      idle: [],
      ...options,
    }
    const tasks = Object.keys(this.#options.tasks) as TaskName[]
    this.#records = new SharedRecords(tasks, (task) => this.cluster.stored.has(this.#pathOf(task)))
    for (const name of tasks) this.cluster.stored.set(this.#pathOf(name), { kind: 'AdapterTask', metadata: { name } })
  }

  /** Runs that go on at the same time. */
  async run(runs: readonly Run[], fault?: Fault): Promise<void> {
    this.#fault = fault
    this.#counts.clear()
    const managers = new Map<TaskName, Manager>()
    for (const { task } of runs) managers.set(task, await this.#manager(task))
    const start = async ({ task, cluster }: Run) => {
      const { runner, killed } = managers.get(task) as Manager
      const data = { id: cluster, kind: 'Cluster', href: `/api/hyperfleet/v1/clusters/${cluster}` }
      const event = parseEvent({ specversion: '1.0', id: `${cluster}.1`, type: 'reconcile', data })
      try {
        await this.#current.run({ task, cluster }, () => runner.run(event, killed.signal))
      } catch (error) {
        if (!killed.signal.aborted) throw error
      }
    }
    // While one request waits, all runs of other tasks begin and end.
    const waiting = runs.filter(({ task }) => fault?.does === 'wait' && task === fault.task)
    const runOthers = once(() => Promise.all(runs.filter((one) => !waiting.includes(one)).map(start)))
    this.#runOthers = runOthers
    await Promise.all(waiting.map(start))
    await runOthers()
    this.#fault = undefined
  }

  select(task: TaskName, id: ClusterId, isSelected: boolean): void {
    this.#records.select(task, id, isSelected)
  }

  /** No run of it may come any more. */
  suspend(task: TaskName): void {
    this.cluster.stored.set(this.#pathOf(task), {
      kind: 'AdapterTask',
      metadata: { name: task },
      spec: { suspend: true },
    })
  }

  /** The tasks are changed: what they make has this colour from now on. */
  paint(colour: string, tasks = Object.keys(this.#options.tasks)): void {
    const changed = Object.fromEntries(tasks.map((task) => [task, colour]))
    this.#options = { ...this.#options, colours: { ...this.#options.colours, ...changed } }
    this.#managers.clear()
  }

  /** The task is changed while its manager runs: it makes nothing any more. */
  idle(task: TaskName): void {
    this.#options = { ...this.#options, idle: [...this.#options.idle, task] }
    const manager = this.#managers.get(task)
    if (manager !== undefined)
      this.#managers.set(task, {
        ...manager,
        runner: this.#runner(task, manager.inventories, manager.transport, manager.killed),
      })
  }

  /** What it has applied stays. No run of it may come any more. */
  removeTask(task: TaskName): void {
    this.cluster.stored.delete(this.#pathOf(task))
    this.#records.settleAll()
  }

  change(id: ClusterId): void {
    this.#records.change(id)
  }

  delete(id: ClusterId): void {
    this.#records.delete(id)
  }

  /**
   * Another writer applies to an object that is there, and takes fields from those that have them. The mark stays, also where it uses a task's own
   * field manager: without it nothing shows whose an object is until the API server's answer is written down.
   */
  forge({ name, manager, fields }: Forgery): void {
    const path = [...this.cluster.applied.keys()].find((one) => nameOf(one) === name)
    if (path === undefined) return
    const { data, annotations, ...marks } = fields
    const mark = this.cluster.applied.get(path)?.fields.get(`annotations.${INVENTORY_ANNOTATION}`)
    const kept = mark?.managers.has(manager) === true && { [INVENTORY_ANNOTATION]: mark.value }
    const metadata = { name, ...marks, annotations: { ...annotations, ...kept } }
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
    this.cluster.request({ method: 'PATCH', path, query: { fieldManager: manager, force: true }, body } as ApiRequest)
  }

  /** Another writer takes all field managers off an object, as a merge patch of `managedFields: [{}]` does. */
  unmanage(name: string): void {
    const found = [...this.cluster.applied].find(([path]) => nameOf(path) === name)
    if (found === undefined) return
    for (const field of found[1].fields.values()) field.managers.clear()
    found[1].version += 1_000_000
  }

  /** Of an object, by its name. */
  colourOf(name: string): string | undefined {
    const found = [...this.cluster.applied].find(([path]) => nameOf(path) === name)
    return found?.[1].fields.get('data.colour')?.value
  }

  /** Two seconds go by: what was read is read anew. */
  async rest(): Promise<void> {
    await this.#clock.sleep(2_000)
  }

  /** Milliseconds since the world began. */
  get passed(): number {
    return this.#clock.now().getTime() - Date.parse('2026-01-31T12:00:00Z')
  }

  /** Of the last report that was taken. */
  conditionOf({ task, cluster }: Run, type: string): string | undefined {
    return this.#records.conditionOf(task, cluster, type)
  }

  isServed({ task, cluster }: { readonly task: string; readonly cluster: string }): boolean {
    return this.#records.isServed(task, cluster)
  }

  isThere(cluster: string): boolean {
    return this.#records.has(cluster)
  }

  /** What all inventories have, as `task cluster name`. */
  recorded(): string[] {
    return [...this.cluster.stored.values()].flatMap((object) => {
      const {
        task,
        resourceId,
        objects = [],
      } = (object as { spec?: { task?: string; resourceId?: string; objects?: readonly { readonly name?: string }[] } })
        .spec ?? {}
      return objects.map(({ name }) => `${task} ${resourceId} ${name}`)
    })
  }

  #namespaceOf(task: TaskName): string {
    return this.#options.tasks[task] ?? ''
  }

  #pathOf(task: TaskName): string {
    return taskPath(this.#namespaceOf(task), task)
  }

  async #manager(task: TaskName): Promise<Manager> {
    const running = this.#managers.get(task)
    if (running !== undefined && !running.killed.signal.aborted) return running
    const killed = new AbortController()
    const request = (sent: ApiRequest): Promise<never> => this.#kubernetes(task, killed, sent)
    const transport = { request } as unknown as Transport
    const inventories = new InventoryStore({
      transport,
      namespace: this.#namespaceOf(task),
      task,
      adapter: task,
      serviceAccountName: task,
      keepsEmpty: true,
      clock: this.#clock,
    })
    const manager = { inventories, killed, transport, runner: this.#runner(task, inventories, transport, killed) }
    const fault = this.#fault
    this.#fault = undefined
    await inventories.load(killed.signal)
    this.#fault = fault
    this.#managers.set(task, manager)
    return manager
  }

  #runner(task: TaskName, inventories: InventoryStore, transport: Transport, killed: AbortController): TaskRunner {
    const clock = this.#clock
    const apiClient = new HttpClient({
      roundTrip: (sent) => this.#step(task, killed, () => this.#records.answer(task, sent)),
      clock,
      timeoutMs: 1_000,
      random: () => 0.5,
    })
    return new TaskRunner(
      {
        task: loadTask(
          { resources: resourcesOf(task, this.#options) },
          { languages: taskLanguages(() => clock.now()), adapter: { name: task, version: '1' }, environment: {} },
        ),
        selector: selectorOf({ matchExpressions: [{ key: task, operator: 'Exists' }] }),
        apiClient,
        externalClient: apiClient,
        transport,
        inventories,
        retention: this.#options.retention[task],
        brake: {
          of: () => ({ observe: () => {}, mayDelete: async () => !this.isHeld }),
        } as unknown as TaskRunnerOptions['brake'] & object,
        kinds: new RestMapper({ request: async (sent: ApiRequest) => this.cluster.request(sent) } as Transport, clock),
        access: {
          environment: {},
          readFile: () => Promise.reject(new Error('no such file')),
          httpAllowlist: httpAllowlist([], '--adapter-http-targets'),
        } as unknown as Access,
        config: {},
        clock,
        log: silent,
      },
      { ensureWatched: () => {}, ensureSharedWatched: () => {}, recordOwnWrite: () => {} },
    )
  }

  #kubernetes(task: TaskName, killed: AbortController, request: ApiRequest): Promise<never> {
    const { method, path } = request
    const isObject = !path.startsWith('/apis/hyperfleet.redhat.com/')
    return this.#step(task, killed, () => {
      const own = this.#namespaceOf(task)
      if (!isObject && !this.#options.readsAll && !path.includes(`/namespaces/${own}/`))
        throw new ApiError({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'of another namespace' })
      if (method === 'PATCH' && this.#isRefused(task))
        throw new ApiError({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'not allowed' })
      const { uid } = this.cluster.applied.get(path) ?? {}
      const isApply = isObject && method === 'PATCH'
      const letsGo = isApply && (request.body as StoredObject).metadata.resourceVersion !== undefined
      if (letsGo) this.#noteApplied(task, path, request.body as StoredObject)
      const answer = this.cluster.request(request) as never
      if (!isObject && method !== 'GET') this.#forgetLeft()
      if (isObject && method === 'DELETE') this.#noteTaken(task, path, uid)
      if (isApply && !letsGo) this.#noteApplied(task, path, request.body as StoredObject)
      return answer
    })
  }

  /** A run that has left an object to another one has taken it out of its inventory. */
  #forgetLeft(): void {
    const recorded = new Set(this.recorded())
    for (const [path, { uid }] of this.cluster.applied)
      for (const key of this.#appliers.get(uid)?.keys() ?? [])
        if (!recorded.has(`${key} ${nameOf(path)}`)) this.#appliers.get(uid)?.delete(key)
  }

  #noteTaken(by: TaskName, path: string, uid = ''): void {
    for (const { task, cluster } of this.#appliers.get(uid)?.values() ?? [])
      if (this.isServed({ task, cluster })) this.taken.push(`${path} of ${task} for ${cluster}, by ${by}`)
  }

  /** An apply that names the resourceVersion lets go: the run does not want it, also where it has changed since. */
  #noteApplied(task: TaskName, path: string, { metadata }: StoredObject): void {
    const { uid = '' } = this.cluster.applied.get(path) ?? {}
    const appliers = this.#appliers.get(uid) ?? new Map<string, Run>()
    this.#appliers.set(uid, appliers)
    const run = this.#current.getStore()
    if (run === undefined) throw new Error('an apply outside of a run')
    if (metadata.resourceVersion === undefined) appliers.set(`${task} ${run.cluster}`, run)
    else appliers.delete(`${task} ${run.cluster}`)
  }

  #isRefused(task: TaskName): boolean {
    const fault = this.#fault
    if (fault?.does !== 'refuse' || fault.task !== task) return false
    this.#fault = undefined
    return true
  }

  /** One request of a manager. */
  async #step<T>(task: TaskName, killed: AbortController, work: () => T): Promise<T> {
    const { signal } = killed
    const { delays } = this.#options
    signal.throwIfAborted()
    const turns = delays[this.#sent++ % Math.max(1, delays.length)] ?? 0
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    const at = this.#counts.get(task) ?? 0
    this.#counts.set(task, at + 1)
    const fault = this.#fault?.task === task && this.#fault.at === at ? this.#fault : undefined
    if (fault?.does === 'wait') await this.#runOthers()
    const fails = () => {
      if (fault === undefined || fault.does === 'refuse' || fault.does === 'wait') return
      if (fault.does === 'kill') killed.abort(new Error('killed'))
      signal.throwIfAborted()
      throw new NetworkError('request', new Error('cut'))
    }
    if (fault?.isDone === false) fails()
    signal.throwIfAborted()
    const result = await work()
    fails()
    signal.throwIfAborted()
    return result
  }
}
