/** What tests of runs stand on: a task, the answers of an API, and a cluster in memory whose objects can be held, refused and broken. */

import type { TracedRequest } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import { cannedResponses, type ResponseRule } from '#controllers/adapter/dry-run/canned-responses.ts'
import { instantClock } from '#controllers/adapter/dry-run/dry-run.ts'
import { hrefOf, parseEvent } from '#controllers/adapter/events/reconcile-event.ts'
import { HttpClient } from '#controllers/adapter/http/client.ts'
import type { HttpRequest } from '#controllers/adapter/http/connection.ts'
import { memoryStorage } from '#controllers/adapter/inventory/memory-storage.ts'
import { ResourceInventory } from '#controllers/adapter/inventory/resource-inventory.ts'
import { taskLanguages } from '#controllers/adapter/language/task-languages.ts'
import { ApiReader } from '#controllers/adapter/run/api-reader.ts'
import { ReportDedup } from '#controllers/adapter/run/report-dedup.ts'
import { type RunResult, run } from '#controllers/adapter/run/run.ts'
import type { RunContext } from '#controllers/adapter/run/run-context.ts'
import { type FailureReason, TaskError } from '#controllers/adapter/run/task-error.ts'
import { loadTask } from '#controllers/adapter/task/load-task.ts'
import type { JsonObject } from '#controllers/adapter/task/task.ts'
import type { Operation } from '#controllers/adapter/transports/memory.ts'
import { memoryTransport } from '#controllers/adapter/transports/memory.ts'
import type { Lookup, ResourceTransport } from '#controllers/adapter/transports/transport.ts'
import { silent } from '#operator/model/log.ts'

const HREF = '/api/hyperfleet/v1/clusters/c1'

export interface RunWorld {
  /** As the API has it; undefined: 404. */
  resource: JsonObject | undefined
  /** Names of task resources whose objects stay, with a finalizer, when they are deleted. */
  readonly held: Set<string>
  /** Names of task resources whose objects stay as they are when they are deleted. */
  readonly deaf: Set<string>
  /** Names of task resources for which an operation is refused. */
  readonly refused: Map<string, { readonly operation: Operation['operation']; readonly reason: FailureReason }>
  /** What was done since the last look, as `apply namespace`, without looking. */
  done(): string[]
  /** Bodies that were put to the statuses since the last look. */
  reports(): JsonObject[]
  /** What the task has applied, as it is written down: names of its resources, and of the objects. */
  recorded(): string[]
  /** Authorization of what was asked of HTTP services since the last look; '' without one. */
  headers(): string[]
  /** Whether it is written down that the task has worked on the resource. */
  isRecorded(): boolean
  /** Of the event. */
  generation: number
  /** Where the event says that the resource is. */
  href: string
  /** An answer in the place of the API's. */
  lost: ResponseRule | undefined
  /** Whether the task selects the cluster. */
  selected: boolean
  /** Whether the resource is one of many that are lost at once. */
  isHeld: boolean
  /** The task is another one from now on, under the same name. */
  change(task: object): void
  /** Something another one created. */
  put(object: JsonObject): void
  /** Takes the finalizers away. */
  release(): void
  run(): Promise<RunResult>
}

export const runWorld = (
  task: object,
  given: {
    readonly responses?: readonly ResponseRule[]
    readonly environment?: Readonly<Record<string, string>>
    readonly retention?: RunContext['retention']
    readonly selection?: string
  } = {},
): RunWorld => {
  const clock = instantClock(new Date('2026-01-31T12:00:00Z'))
  const { environment = {} } = given
  const load = (from: object) =>
    loadTask(from, {
      languages: taskLanguages(() => clock.now()),
      adapter: { name: 'under-test', version: '1.0.0' },
      environment,
    })
  let loaded = load(task)
  const sent: HttpRequest[] = []
  const operations: Operation[] = []
  const foreign: Record<string, JsonObject> = {}
  const reportDedup = new ReportDedup()
  const released = new Map<string, string>()
  const inventory = new ResourceInventory({
    storage: memoryStorage(),
    keepsEmpty: given.selection !== undefined,
  })
  const inner = memoryTransport(foreign, (operation) => operations.push(operation))
  const leaving = new Map<string, { readonly object: JsonObject; readonly shown: JsonObject }>()
  const extra: JsonObject[] = []
  const authorizations: string[] = []

  const transport: ResourceTransport = {
    async apply(target, signal) {
      refuse(target.name, 'apply')
      return inner.apply(target, signal)
    },
    async find(target, signal) {
      noteHeaders(target)
      refuse(target.name, 'find')
      const found = [...(await inner.find(target, signal)), ...extra.filter((object) => isMeant(object, target))]
      const shown = leaving.get(target.name)
      return found.map((object) => (shown?.object === object ? shown.shown : object))
    },
    async delete(target, object, policy, signal) {
      noteHeaders(target)
      refuse(target.name, 'delete')
      operations.push({ operation: 'delete', resource: target.name, object: policy })
      if (world.deaf.has(target.name)) return 'asked'
      const at = extra.indexOf(object)
      if (at >= 0) extra.splice(at, 1)
      if (!world.held.has(target.name)) return inner.delete(target, object, policy, signal)
      const held = { deletionTimestamp: '2026-01-31T12:00:00Z', finalizers: ['example.com/hold'] }
      leaving.set(target.name, {
        object,
        shown: { ...object, metadata: { ...(object.metadata as JsonObject), ...held } },
      })
      return 'asked'
    },
  }
  const noteHeaders = ({ transport: via }: Lookup) => {
    if (via.kind === 'http') authorizations.push(via.headers.authorization ?? '')
  }
  const refuse = (name: string, operation: Operation['operation']) => {
    const refusal = world.refused.get(name)
    if (refusal?.operation === operation) throw new TaskError(refusal.reason, `${name} was refused`)
  }

  const world: RunWorld = {
    resource: { id: 'c1', name: 'east', generation: 2 },
    held: new Set(),
    deaf: new Set(),
    refused: new Map(),
    selected: true,
    isHeld: false,
    generation: 2,
    href: HREF,
    lost: undefined,
    recorded: () =>
      [...inventory.entries.values()].map(({ resource, name, url }) => `${resource} ${name ?? url}`).toSorted(),
    headers: () => authorizations.splice(0),
    isRecorded: () => inventory.isRecorded,
    done: () => {
      const list = operations
        .splice(0)
        .filter(({ operation, object }) => operation === 'apply' || (operation === 'delete' && !/ |:\/\//.test(object)))
      return list.map(({ operation, resource, object }) =>
        operation === 'delete' ? `delete ${resource} ${object}` : `${operation} ${resource}`,
      )
    },
    reports: () =>
      sent
        .splice(0)
        .filter(({ method, url }) => method === 'PUT' && url.endsWith('/statuses'))
        .map(({ body }) => JSON.parse(body ?? '{}')),
    change: (changed) => {
      loaded = load(changed)
    },
    put: (object) => extra.push(object),
    release: () => {
      for (const { object } of leaving.values()) {
        const target = {
          name: '',
          identity: object,
          transport: { kind: 'kubernetes' },
          match: { kind: 'self' },
        } as const
        void inner.delete(target, object, 'Background', new AbortController().signal)
      }
      operations.length = 0
      leaving.clear()
    },
    run() {
      const own: ResponseRule = {
        match: { method: 'GET', urlPattern: `^${HREF}$` },
        responses: [world.resource === undefined ? GONE : { body: world.resource }],
      }
      const requests: TracedRequest[] = []
      const caller = new HttpClient({
        roundTrip: cannedResponses([...(world.lost ? [world.lost] : []), ...(given.responses ?? []), own], (request) =>
          sent.push(request),
        ),
        clock,
        timeoutMs: 10_000,
        random: () => 0.5,
        onRequest: (request) => requests.push(request),
      })
      const event = parseEvent({
        specversion: '1.0',
        id: 'c1.1',
        type: 'com.redhat.hyperfleet.cluster.reconcile',
        data: { id: 'c1', kind: 'Cluster', href: world.href, generation: world.generation },
      })
      return run({
        task: loaded,
        event,
        config: { adapter: { name: 'under-test' } },
        environment,
        requests,
        isSelected: () => world.selected,
        context: {
          api: new ApiReader(caller, hrefOf(event), event.data.id),
          inventory,
          recordedHref: inventory.isRecorded ? HREF : undefined,
          retention: given.retention,
          brake: { observe: () => {}, mayDelete: async () => !world.isHeld },
          selection: given.selection,
          transports: { kubernetes: transport, http: transport },
          reportDedup,
          released,
          readFile: (path) =>
            path === '/token' ? Promise.resolve('s3cret\n') : Promise.reject(new Error('no such file')),
          clock,
          log: silent,
          signal: new AbortController().signal,
        },
      })
    },
  }
  return world
}

const isMeant = ({ kind, metadata, url }: JsonObject, { identity, match: find, transport }: Lookup): boolean => {
  if (transport.kind === 'http') return url === transport.url
  const { name } = (metadata ?? {}) as { readonly name?: string }
  return kind === identity.kind && (find.kind !== 'name' || find.name === name)
}

/** How the API says that it has no such resource. */
export const GONE = { statusCode: 404, body: { code: 'HYPERFLEET-NTF-001' } }

/** An object as an earlier release of Muster applied it for the cluster, before there were inventories. */
export const appliedBefore = (object: JsonObject): JsonObject => {
  const { labels = {}, ...metadata } = object.metadata as { readonly labels?: JsonObject }
  const own = { 'muster.dev/adapter': 'under-test', 'muster.dev/resource-id': 'c1' }
  return { ...object, metadata: { ...metadata, labels: { ...labels, ...own } } }
}

/** A resource of a task: a ConfigMap of that name. */
export const configMap = (name: string, rest: object = {}): object => ({
  name,
  manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-{{ .event.id }}`, namespace: 'n' } },
  discovery: { namespace: 'n', by_name: `${name}-{{ .event.id }}` },
  ...rest,
})

/** The conditions of a report as `Applied True Reason`. */
export const conditionsOf = (report: JsonObject | undefined): string[] =>
  ((report?.conditions ?? []) as unknown as readonly Record<string, string>[]).map(
    ({ type, status, reason }) => `${type} ${status} ${reason}`,
  )

/** What a trace says of the resources, as `name action`. */
export const outcomes = (steps: readonly { readonly name: string; readonly action: string }[]): string[] =>
  steps.map(({ name, action }) => `${name} ${action}`)

/** The cluster of the event, in deletion. */
export const DELETED = { id: 'c1', name: 'east', generation: 3, deleted_time: '2026-01-31T11:59:00Z' }

/** Run once while it lives; from then on it is being deleted. */
export const deleting = async (task: object): Promise<RunWorld> => {
  const world = runWorld(task)
  await world.run()
  world.done()
  world.reports()
  world.resource = DELETED
  return world
}

/** Reports by a post action of the task's own, the payload `said` as it is built. @param rest of the payload */
export const reporting = (build: Readonly<Record<string, string>>, rest: object = {}): object => ({
  payloads: [
    {
      name: 'said',
      build: Object.fromEntries(Object.entries(build).map(([key, expression]) => [key, { expression }])),
      ...rest,
    },
  ],
  post_actions: [{ name: 'tell', api_call: { method: 'PUT', url: '/clusters/c1/statuses', body: '{{ .said }}' } }],
})
