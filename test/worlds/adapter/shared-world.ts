/**
 * Two tasks, each with a manager of its own, two clusters, and objects that several of these four have, all in memory. Runs go on side by
 * side, requests are cut before or after they are done, and managers are killed there.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Access } from '#controllers/adapter/access.ts'
import { TaskRunner } from '#controllers/adapter/daemon/task-runner.ts'
import { instantClock } from '#controllers/adapter/dry-run/dry-run.ts'
import { parseEvent } from '#controllers/adapter/events/reconcile-event.ts'
import { HttpClient } from '#controllers/adapter/http/client.ts'
import type { HttpRequest, HttpResponse } from '#controllers/adapter/http/connection.ts'
import { InventoryStore } from '#controllers/adapter/inventory/inventory-store.ts'
import { taskLanguages } from '#controllers/adapter/language/task-languages.ts'
import { loadTask } from '#controllers/adapter/task/load-task.ts'
import { httpAllowlist } from '#controllers/adapter/transports/http-allowlist.ts'
import { ApiError, NetworkError } from '#operator/client/errors.ts'
import { RestMapper } from '#operator/client/rest-mapper.ts'
import type { ApiRequest, Transport } from '#operator/client/transport.ts'
import { silent } from '#operator/model/log.ts'
import { selectorOf } from '#operator/model/selector.ts'
import { MemoryCluster, nameOf, type StoredObject } from './memory-cluster.ts'

export const TASKS = ['left', 'right'] as const
export const CLUSTERS = ['c1', 'c2'] as const
export type TaskName = (typeof TASKS)[number] | 'far'
export type ClusterId = (typeof CLUSTERS)[number]

/** What happens to a request of a task's manager. */
export interface Fault {
  readonly task: TaskName
  /** Which of its requests in this step. */
  readonly at: number
  /** `refuse`: the next object is not applied, 403. `cut`: no answer. `kill`: no answer, and the manager ends. */
  readonly does: 'refuse' | 'cut' | 'kill'
  /** The server has done it. */
  readonly isDone: boolean
}

/** What another writer puts on an object, under any field manager. */
export interface Forgery {
  /** Of the object. */
  readonly name: string
  readonly manager: string
  readonly fields: Readonly<Partial<Record<'labels' | 'annotations' | 'data', Readonly<Record<string, string>>>>>
}

export interface Run {
  readonly task: TaskName
  readonly cluster: ClusterId
}

interface Manager {
  readonly inventories: InventoryStore
  readonly runner: TaskRunner
  readonly killed: AbortController
}

interface Report {
  readonly observed_generation: number
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[]
}

interface Cluster {
  generation: number
  isDeleted: boolean
  /** Names of tasks that select it. */
  readonly labels: Set<string>
  /** By adapter. */
  readonly reports: Map<string, Report>
}

const taskPath = (namespace: string, task: string): string =>
  `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${namespace}/adaptertasks/${task}`

export interface SharedWorldOptions {
  /** The objects of the tasks have no fields of their own. */
  readonly isBare: boolean
  /** Requests wait so many turns, by turns. */
  readonly delays: readonly number[]
  /** Namespaces of the tasks, by their names; `left` and `right` in one when left out. Objects are in `n`. */
  readonly tasks?: Readonly<Partial<Record<TaskName, string>>>
  /** Managers may read other namespaces. */
  readonly readsAll?: boolean
}

/** What a task makes of a cluster, as names: one object that all four have, two that two of them have, and one of its own. */
export const wantedBy = (task: string, cluster: string): readonly string[] => [
  'all',
  `of-${cluster}`,
  `of-${task}`,
  `of-${task}-${cluster}`,
]

const resourcesOf = (task: string, isBare: boolean): object[] =>
  wantedBy(task, '{{ .event.id }}').map((name, at) => ({
    name: `r${at}`,
    manifest: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'n' },
      ...(!isBare && { data: { colour: 'red' } }),
    },
    discovery: { namespace: 'n', by_name: name },
  }))

export class SharedWorld {
  readonly #clock = instantClock(new Date('2026-01-31T12:00:00Z'))
  readonly cluster = new MemoryCluster()
  readonly #clusters = new Map<string, Cluster>()
  readonly #managers = new Map<TaskName, Manager>()
  /** The run that sends a request. */
  readonly #current = new AsyncLocalStorage<Run>()
  /** Which runs have applied an object, by its uid. */
  readonly #appliers = new Map<string, Map<string, Run>>()
  /** Objects that were deleted although a run of another resource or task that is served had applied them. */
  readonly taken: string[] = []
  readonly #options: Required<SharedWorldOptions>
  #sent = 0
  #fault: Fault | undefined
  readonly #counts = new Map<TaskName, number>()

  constructor(options: SharedWorldOptions) {
    this.#options = { tasks: { left: 'n', right: 'n' }, readsAll: false, ...options }
    const tasks = Object.keys(this.#options.tasks) as TaskName[]
    for (const id of CLUSTERS)
      this.#clusters.set(id, { generation: 1, isDeleted: false, labels: new Set(tasks), reports: new Map() })
    for (const name of tasks) this.cluster.stored.set(this.#pathOf(name), { kind: 'AdapterTask', metadata: { name } })
  }

  /** Runs that go on at the same time. */
  async run(runs: readonly Run[], fault?: Fault): Promise<void> {
    this.#fault = fault
    this.#counts.clear()
    const managers = new Map<TaskName, Manager>()
    for (const { task } of runs) managers.set(task, await this.#manager(task))
    await Promise.all(
      runs.map(async ({ task, cluster }) => {
        const { runner, killed } = managers.get(task) as Manager
        const data = { id: cluster, kind: 'Cluster', href: `/api/hyperfleet/v1/clusters/${cluster}` }
        const event = parseEvent({ specversion: '1.0', id: `${cluster}.1`, type: 'reconcile', data })
        try {
          await this.#current.run({ task, cluster }, () => runner.run(event, killed.signal))
        } catch (error) {
          if (!killed.signal.aborted) throw error
        }
      }),
    )
    this.#fault = undefined
  }

  select(task: TaskName, id: ClusterId, isSelected: boolean): void {
    const labels = this.#clusters.get(id)?.labels
    if (isSelected) labels?.add(task)
    else labels?.delete(task)
    this.#settle(id)
  }

  /** What it has applied stays. No run of it may come any more. */
  removeTask(task: TaskName): void {
    this.cluster.stored.delete(this.#pathOf(task))
    for (const id of CLUSTERS) this.#settle(id)
  }

  delete(id: ClusterId): void {
    const record = this.#clusters.get(id)
    if (record === undefined || record.isDeleted) return
    record.isDeleted = true
    record.generation++
    this.#settle(id)
  }

  /** Another writer applies to an object that is there, and takes fields from those that have them. */
  forge({ name, manager, fields }: Forgery): void {
    const path = [...this.cluster.applied.keys()].find((one) => nameOf(one) === name)
    if (path === undefined) return
    const { data, ...marks } = fields
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...marks }, data }
    this.cluster.request({ method: 'PATCH', path, query: { fieldManager: manager, force: true }, body } as ApiRequest)
  }

  /** Of the last report that was taken. */
  conditionOf({ task, cluster }: Run, type: string): string | undefined {
    const { conditions = [] } = this.#clusters.get(cluster)?.reports.get(task) ?? {}
    return conditions.find((one) => one.type === type)?.status
  }

  isServed({ task, cluster }: { readonly task: string; readonly cluster: string }): boolean {
    const record = this.#clusters.get(cluster)
    const isThere = this.cluster.stored.has(this.#pathOf(task as TaskName))
    return isThere && record !== undefined && !record.isDeleted && record.labels.has(task)
  }

  isThere(cluster: string): boolean {
    return this.#clusters.has(cluster)
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
    const manager = { inventories, killed, runner: this.#runner(task, inventories, transport, killed) }
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
      roundTrip: (sent) => this.#step(task, killed, () => this.#answer(task, sent)),
      clock,
      timeoutMs: 1_000,
      random: () => 0.5,
    })
    return new TaskRunner(
      {
        task: loadTask(
          { resources: resourcesOf(task, this.#options.isBare) },
          { languages: taskLanguages(() => clock.now()), adapter: { name: task, version: '1' }, environment: {} },
        ),
        selector: selectorOf({ matchExpressions: [{ key: task, operator: 'Exists' }] }),
        apiClient,
        externalClient: apiClient,
        transport,
        inventories,
        kinds: new RestMapper({ request: async (sent: ApiRequest) => this.cluster.request(sent) } as Transport, clock),
        access: {
          environment: {},
          readFile: () => Promise.reject(new Error('no such file')),
          httpAllowlist: httpAllowlist([]),
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
      const answer = this.cluster.request(request) as never
      if (!isObject && method !== 'GET') this.#forgetLeft()
      if (isObject && method === 'DELETE') this.#noteTaken(task, path, uid)
      if (isObject && method === 'PATCH') this.#noteApplied(task, path, request.body as StoredObject)
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

  /** An apply that names the resourceVersion lets go. */
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
    const fails = () => {
      if (fault === undefined || fault.does === 'refuse') return
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

  #answer(task: TaskName, { method, url, body }: HttpRequest): HttpResponse {
    const id = /clusters\/([^/?]+)/.exec(url)?.[1] ?? ''
    const record = this.#clusters.get(id)
    if (record === undefined) return { status: 404, headers: {}, text: '{"code":"HYPERFLEET-NTF-001"}' }
    if (method === 'PUT') {
      record.reports.set(task, JSON.parse(body ?? '{}') as Report)
      this.#settle(id)
      return { status: 200, headers: {}, text: '{}' }
    }
    const { generation, isDeleted } = record
    const labels = Object.fromEntries([...record.labels].map((key) => [key, 'yes']))
    const text = { id, name: id, generation, labels, ...(isDeleted && { deleted_time: '2026-01-31T12:00:00Z' }) }
    return { status: 200, headers: {}, text: JSON.stringify(text) }
  }

  /** The record goes when each adapter that has reported has let it go. */
  #settle(id: string): void {
    const record = this.#clusters.get(id)
    if (record === undefined || !record.isDeleted) return
    const isDone = [...record.reports].every(([task, { observed_generation, conditions }]) => {
      if (!this.cluster.stored.has(this.#pathOf(task as TaskName))) return true
      const says = (type: string, status: string) =>
        conditions.some((condition) => condition.type === type && condition.status === status)
      if (conditions[0]?.reason === 'NotSelected') return !record.labels.has(task)
      return observed_generation === record.generation && says('Applied', 'False') && says('Health', 'True')
    })
    if (isDone) this.#clusters.delete(id)
  }
}
