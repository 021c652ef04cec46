/** One resource, its record at an API, and what a task makes of it in a cluster, all in memory; managers are killed between requests. */
import { instantClock } from '#controllers/adapter/dry-run/dry-run.ts'
import { parseEvent } from '#controllers/adapter/events/reconcile-event.ts'
import { HttpClient } from '#controllers/adapter/http/client.ts'
import type { HttpRequest, HttpResponse } from '#controllers/adapter/http/connection.ts'
import { keyOfObject } from '#controllers/adapter/inventory/entry.ts'
import { memoryStorage } from '#controllers/adapter/inventory/memory-storage.ts'
import { type InventoryStorage, ResourceInventory } from '#controllers/adapter/inventory/resource-inventory.ts'
import { taskLanguages } from '#controllers/adapter/language/task-languages.ts'
import { ApiReader } from '#controllers/adapter/run/api-reader.ts'
import { ReportDedup } from '#controllers/adapter/run/report-dedup.ts'
import { run } from '#controllers/adapter/run/run.ts'
import { TaskError } from '#controllers/adapter/run/task-error.ts'
import { loadTask } from '#controllers/adapter/task/load-task.ts'
import type { JsonObject, Task } from '#controllers/adapter/task/task.ts'
import { type Lookup, ObjectReplacedError, type ResourceTransport } from '#controllers/adapter/transports/transport.ts'
import { silent } from '#operator/model/log.ts'
import { configMap } from './run-world.ts'

const HREF = '/api/hyperfleet/v1/clusters/c1'
const SELECTION = 'pace=slow'

export interface KillableWorld {
  /** A run. @param killAt the request at which the manager is killed: an even one is never sent, the answer of an odd one is lost */
  pulse(killAt?: number): Promise<void>
  /** A new generation. */
  change(): void
  delete(): void
  /** The record goes, whatever waits. */
  force(): void
  relabel(isSelected: boolean): void
  /** Whether a finalizer holds what is deleted. */
  hold(isHeld: boolean): void
  /** The next object is not applied. */
  refuse(): void
  /** The next report is not taken. */
  refuseReport(): void
  /** The task has these resources from now on. @param rest of the task */
  declare(shapes: readonly string[], rest?: object): void
  /** A release that had no inventories has applied what the task names now: all, or these. */
  applyAsBefore(names?: readonly string[]): void
  /** Another one has an object with the labels of the task's; it is a second newer than everything else, or of the same second. */
  forge(name: string, isNewer?: boolean): void
  /** Names of what is there. */
  objects(): string[]
  /** Names of what is there and the task would not apply now. */
  superseded(): string[]
  /** Something is written down of the resource. */
  readonly isRecorded: boolean
  /** The record is there, selected and not being deleted. */
  readonly isServed: boolean
  /** The record is there and is being deleted. */
  readonly isWaiting: boolean
}

interface Report {
  readonly observed_generation: number
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[]
}

const APP = { app: 'x' }

const shape = (name: string): object[] => {
  const key = name.replaceAll(' ', '_')
  const numbered = `${key}-{{ .resource.generation }}`
  switch (name) {
    case 'numbered':
      return [
        configMap(key, {
          manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: numbered, namespace: 'n' } },
          discovery: { namespace: 'n', by_name: numbered },
        }),
      ]
    case 'ordered':
      return [configMap('first', { delete_options: { after: ['second'] } }), configMap('second')]
    case 'selected':
      return [
        configMap(key, {
          manifest: {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: 'selected', namespace: 'n', labels: APP },
          },
          discovery: { namespace: 'n', by_selectors: { label_selector: APP } },
          recreate_on_change: true,
        }),
      ]
    case 'conditional':
      return [
        configMap(key, {
          lifecycle: {
            create: { when: { expression: 'resource.generation < 1' } },
            delete: { when: { expression: 'resource.generation > 2 || has(resource.deleted_time)' } },
          },
        }),
      ]
    default:
      return [configMap(key, { recreate_on_change: name === 'created anew' })]
  }
}

export const killableWorld = (): KillableWorld => {
  const clock = instantClock(new Date('2026-01-31T12:00:00Z'))
  const cluster = new Map<string, JsonObject>()
  let seconds = 0
  const now = () => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
  const kept = memoryStorage('mark', now)
  let task: Task
  let record: JsonObject | undefined = { id: 'c1', name: 'east', generation: 1 }
  let isSelected = true
  let isHeld = false
  let isRefused = false
  let isReportRefused = false
  let row: Report | undefined
  let uid = 0

  const isDeleted = () => record?.deleted_time !== undefined
  const says = (type: string, status: string) =>
    row?.conditions.some((condition) => condition.type === type && condition.status === status) === true
  const isReleased = () => !isSelected && row?.conditions[0]?.reason === 'NotSelected'
  /** As the API decides: no adapter that has reported and not let the record go is left to wait for. */
  const settleRecord = () => {
    if (!isDeleted()) return
    const isCurrent = row?.observed_generation === record?.generation
    if (row === undefined || isReleased() || (isCurrent && says('Applied', 'False') && says('Health', 'True')))
      record = undefined
  }

  const answer = ({ method, url, body }: HttpRequest): HttpResponse => {
    if (record === undefined) return { status: 404, headers: {}, text: '{"code":"HYPERFLEET-NTF-001"}' }
    if (method === 'GET') return { status: 200, headers: {}, text: JSON.stringify(record) }
    if (isReportRefused) {
      isReportRefused = false
      return { status: 403, headers: {}, text: '{}' }
    }
    if (url.endsWith('/statuses')) row = JSON.parse(body ?? '{}') as Report
    settleRecord()
    return { status: 200, headers: {}, text: '{}' }
  }

  const sweepReleased = () => {
    if (isHeld) return
    for (const [key, object] of cluster)
      if ((object.metadata as JsonObject).deletionTimestamp !== undefined) cluster.delete(key)
  }

  const transport = (request: <T>(work: () => T) => Promise<T>): ResourceTransport => ({
    apply: (target) =>
      request(() => {
        if (isRefused) {
          isRefused = false
          throw new TaskError('ApplyFailed', `${target.name} was refused`)
        }
        const key = keyOfObject(target.manifest)
        const before = cluster.get(key)?.metadata as JsonObject | undefined
        if (target.recordedUid !== undefined && target.recordedUid !== before?.uid) throw new ObjectReplacedError()
        const metadata = {
          uid: `uid-${++uid}`,
          creationTimestamp: now(),
          ...before,
          ...(target.manifest.metadata as JsonObject),
        }
        const object = { ...target.manifest, metadata } as JsonObject
        cluster.set(key, object)
        return object
      }),
    find: ({ identity, match }) =>
      request(() =>
        [...cluster.values()].filter(
          ({ kind, metadata }) => kind === identity.kind && isMatched(metadata as unknown as Labelled, match),
        ),
      ),
    delete: (_, object) =>
      request(() => {
        const key = keyOfObject(object)
        const now = cluster.get(key)
        if ((now?.metadata as JsonObject | undefined)?.uid !== (object.metadata as JsonObject).uid || now === undefined)
          return 'asked'
        if (isHeld)
          cluster.set(key, {
            ...now,
            metadata: { ...(now.metadata as JsonObject), deletionTimestamp: 'now', finalizers: ['example.com/hold'] },
          })
        else cluster.delete(key)
        return 'asked'
      }),
  })

  const storage = (request: <T>(work: () => Promise<T>) => Promise<T>): InventoryStorage => ({
    read: (signal) => request(() => kept.read(signal)),
    write: (objects, before, signal) => request(() => kept.write(objects, before, signal)),
    remove: (before, signal) => request(() => kept.remove(before, signal)),
  })

  let inventory: ResourceInventory | undefined

  const rendered = () => {
    const scope = { event: { id: 'c1', generation: record?.generation }, resource: record }
    return task.resources.map(({ manifest }) => manifest.build(scope) as JsonObject)
  }
  const create = (object: JsonObject) => {
    const metadata = { ...(object.metadata as JsonObject), uid: `uid-${++uid}`, creationTimestamp: now() }
    cluster.set(keyOfObject(object), { ...object, metadata })
  }

  const world: KillableWorld = {
    async pulse(killAt) {
      const killed = new AbortController()
      let requests = 0
      const request = async <T>(work: () => T | Promise<T>): Promise<T> => {
        killed.signal.throwIfAborted()
        const at = requests++
        if (at === killAt && at % 2 === 0) killed.abort(new Error('killed'))
        killed.signal.throwIfAborted()
        const result = await work()
        if (at === killAt) killed.abort(new Error('killed'))
        killed.signal.throwIfAborted()
        return result
      }
      inventory = new ResourceInventory({ storage: storage(request), stored: kept.stored, keepsEmpty: true })
      const client = new HttpClient({
        roundTrip: (sent) => request(() => answer(sent)),
        clock,
        timeoutMs: 1_000,
        random: () => 0.5,
      })
      const data = { id: 'c1', kind: 'Cluster', href: HREF }
      const event = parseEvent({ specversion: '1.0', id: 'c1.1', type: 'reconcile', data })
      const kubernetes = transport(request)
      try {
        await run({
          task,
          event,
          config: {},
          environment: {},
          requests: [],
          isSelected: () => isSelected,
          context: {
            api: new ApiReader(client, HREF, 'c1'),
            transports: { kubernetes, http: kubernetes },
            inventory,
            selection: SELECTION,
            reportDedup: new ReportDedup(),
            readFile: () => Promise.reject(new Error('no such file')),
            clock,
            log: silent,
            signal: killed.signal,
          },
        })
      } catch (error) {
        if (!killed.signal.aborted) throw error
      }
    },
    change() {
      if (record !== undefined && !isDeleted()) record = { ...record, generation: Number(record.generation) + 1 }
    },
    delete() {
      if (record === undefined || isDeleted()) return
      record = { ...record, generation: Number(record.generation) + 1, deleted_time: '2026-01-31T12:00:00Z' }
      settleRecord()
    },
    force() {
      record = undefined
    },
    relabel(selected) {
      isSelected = selected
      settleRecord()
    },
    hold(held) {
      isHeld = held
      sweepReleased()
    },
    refuse() {
      isRefused = true
    },
    refuseReport() {
      isReportRefused = true
    },
    declare(shapes, rest = {}) {
      task = loadTask(
        { resources: shapes.flatMap(shape), ...rest },
        { languages: taskLanguages(() => clock.now()), adapter: { name: 'under-test', version: '1' } },
      )
    },
    applyAsBefore(names) {
      row = {
        observed_generation: Number(record?.generation),
        conditions: [{ type: 'Applied', status: 'True', reason: 'Applied' }],
      }
      for (const object of rendered()) {
        const { name, labels } = object.metadata as unknown as Labelled
        if (names?.includes(name) !== false)
          create({ ...object, metadata: { name, namespace: 'n', labels: { ...labels, ...LABELS } } })
      }
    },
    forge(name, isNewer = true) {
      if (isNewer) seconds++
      const annotations = { 'hyperfleet.io/generation': '999' }
      create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace: 'n', labels: { ...APP, ...LABELS }, annotations },
      })
    },
    objects: () => [...cluster.values()].map(({ metadata }) => String((metadata as { readonly name: string }).name)),
    superseded() {
      const current = rendered().map(keyOfObject)
      return [...cluster.keys()].filter((key) => !current.includes(key))
    },
    get isRecorded() {
      return kept.stored !== undefined
    },
    get isServed() {
      return record !== undefined && isSelected && !isDeleted()
    },
    get isWaiting() {
      return isDeleted()
    },
  }
  return world
}

interface Labelled {
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
}

const LABELS = { 'muster.dev/adapter': 'under-test', 'muster.dev/resource-id': 'c1' }

const isMatched = ({ name, labels = {} }: Labelled, match: Lookup['match']): boolean => {
  if (match.kind === 'labels') return Object.entries(match.labels).every(([key, value]) => labels[key] === value)
  return match.kind === 'name' && name === match.name
}
