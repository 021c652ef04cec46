/** Resources that go without a last event: a worker whose clock the test moves forgets them. */
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { grantAccess } from '#controllers/adapter/access.ts'
import { InferredDeletions } from '#controllers/adapter/daemon/inferred-deletions.ts'
import { TaskStats } from '#controllers/adapter/daemon/task-stats.ts'
import { Worker, type WorkerOptions } from '#controllers/adapter/daemon/worker.ts'
import { apiQueueSource } from '#controllers/adapter/events/api-queue.ts'
import { HttpClient } from '#controllers/adapter/http/client.ts'
import { type HttpConnection, openHttpConnection } from '#controllers/adapter/http/connection.ts'
import { InventoryStore } from '#controllers/adapter/inventory/inventory-store.ts'
import { taskLanguages } from '#controllers/adapter/language/task-languages.ts'
import { createMetrics } from '#controllers/adapter/metrics.ts'
import { loadTask } from '#controllers/adapter/task/load-task.ts'
import { RestMapper } from '#operator/client/rest-mapper.ts'
import type { Transport } from '#operator/client/transport.ts'
import { monotonic } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { selectorOf } from '#operator/model/selector.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import { type ManualClock, manualClock } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld, PATIENCE } from './world.ts'

let world: AdapterWorld
let transport: Transport
let exchange: HttpConnection
/** URLs of the HyperFleet API. */
const asked: string[] = []

beforeAll(async () => {
  world = await adapterWorld()
  transport = await world.plane.transport()
  exchange = openHttpConnection({ base: world.url, userAgent: 'test' })
})

afterAll(async () => {
  await exchange?.close()
  await transport?.close()
  await world?.[Symbol.asyncDispose]()
})

/** Of a task that can't be done, for resources with the label region=here. */
const workerOf = (clock: ManualClock, rest: Partial<WorkerOptions>): Worker => {
  const labels = { matchLabels: { region: 'here' } }
  const caller = new HttpClient({
    roundTrip: (request, ...rest) => {
      asked.push(request.url)
      return exchange.roundTrip(request, ...rest)
    },
    clock,
    timeoutMs: 10_000,
  })
  return new Worker({
    task: loadTask(
      { params: [{ name: 'absent', source: 'event.owner_references', required: true }] },
      { languages: taskLanguages(() => clock.now()), adapter: { name: 'forgetful', version: '1' }, environment: {} },
    ),
    selector: selectorOf(labels),
    resourceType: 'clusters',
    inventories: new InventoryStore({
      transport,
      namespace: world.namespace,
      task: 'forgetful',
      adapter: 'forgetful',
      serviceAccountName: 'everything',
      keepsEmpty: true,
      clock,
    }),
    source: apiQueueSource({
      caller,
      consumer: 'forgetful',
      resourceType: 'clusters',
      selector: 'region=here',
      visibilityMs: 30_000,
      onDeadLetter: () => {},
    }),
    apiClient: caller,
    externalClient: caller,
    transport,
    kinds: new RestMapper(transport, clock),
    access: grantAccess({ variables: [], files: [], httpTargets: [], env: {} }),
    config: {},
    maxConcurrent: 4,
    visibilityMs: 30_000,
    brake: new InferredDeletions({
      released: () => undefined,
      now: () => monotonic(clock),
      onChange: () => {},
      soon: new WakeSignal(clock),
      record: async () => {},
    }),
    stats: new TaskStats({ processed: 0, failed: 0, skipped: 0, deadLetters: 0 }),
    metrics: createMetrics(new Registry()),
    clock,
    log: silent,
    onStatusChange: () => {},
    onRunEnd: () => {},
    onHealthChange: () => {},
    ...rest,
  })
}

test('one that failed and is removed by force, or gets other labels, is not counted as failing for ever; one that is there is', async () => {
  const clock = manualClock(new Date().toISOString())
  const stats = new TaskStats({ processed: 0, failed: 0, skipped: 0, deadLetters: 0 })
  const worker = workerOf(clock, { stats })
  const failing = () => stats.summary(clock.now().getTime()).failing
  const end = new AbortController()
  const ended = worker.run(end.signal)
  await vi.waitFor(() => expect(worker.connected).toBe(true), PATIENCE)

  const ids: string[] = []
  for (const name of ['forced', 'moved', 'left']) {
    const body = { kind: 'Cluster', name, labels: { region: 'here' }, spec: {} }
    const { id = '' } = (await world.call('POST', '/clusters', body)) ?? {}
    await world.pulse(id)
    ids.push(id)
  }
  const [forced, moved, left = ''] = ids
  await vi.waitFor(() => expect(failing()).toBe(3), PATIENCE)

  await world.call('DELETE', `/clusters/${forced}`)
  await world.call('POST', `/clusters/${forced}/force-delete`, { reason: 'nobody cleans up' })
  await world.call('PATCH', `/clusters/${moved}`, { labels: { region: 'there' } })
  await clock.advance('2m')
  await vi.waitFor(() => expect(failing()).toBe(1), PATIENCE)
  expect(stats.isFailing(left)).toBe(true)
  end.abort()
  await ended
})

test('a worker of which one part breaks off ends whole, and says why', async () => {
  const clock = manualClock()
  const onStatusChange = () => {
    throw new Error('nobody listens')
  }
  await expect(workerOf(clock, { onStatusChange }).run(new AbortController().signal)).rejects.toThrow('nobody listens')
  expect(clock.sleepers()).toBe(0)
})

test('ADAPTER-82: what is kept for a resource that is not selected any more costs one run for each of its states', async () => {
  const clock = manualClock(new Date().toISOString())
  const runs: string[] = []
  const task = loadTask(
    {
      params: [{ name: 'id', source: 'event.id', required: true }],
      resources: [
        {
          name: 'one',
          manifest: {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: 'kept-{{ .id }}', namespace: world.namespace },
          },
          discovery: { namespace: world.namespace, by_name: 'kept-{{ .id }}' },
        },
      ],
    },
    { languages: taskLanguages(() => clock.now()), adapter: { name: 'keeping', version: '1' }, environment: {} },
  )
  const worker = workerOf(clock, {
    task,
    retention: { whenUnselected: 'Keep' },
    onRunEnd: (id, { skipReason }) => runs.push(`${id} ${skipReason === undefined ? 'applied' : 'left'}`),
  })
  const end = new AbortController()
  const ended = worker.run(end.signal)
  await vi.waitFor(() => expect(worker.connected).toBe(true), PATIENCE)
  const labels = { region: 'here' }
  const { id = '' } = (await world.call('POST', '/clusters', { kind: 'Cluster', name: 'kept', labels, spec: {} })) ?? {}
  await world.pulse(id)
  await vi.waitFor(() => expect(runs).toEqual([`${id} applied`]), PATIENCE)

  await world.call('PATCH', `/clusters/${id}`, { labels: { region: 'there' } })
  await clock.advance('30s')
  await vi.waitFor(() => expect(runs).toEqual([`${id} applied`, `${id} left`]), PATIENCE)
  runs.length = 0
  const looks = () => asked.filter((url) => url.includes('search=')).length
  for (let round = 0; round < 3; round++) {
    const before = looks()
    await clock.advance('30s')
    await vi.waitFor(() => expect(looks()).toBeGreaterThan(before), PATIENCE)
  }
  await world.call('PATCH', `/clusters/${id}`, { spec: { changed: true } })
  await clock.advance('30s')
  await vi.waitFor(() => expect(runs).toEqual([`${id} left`]), PATIENCE)
  end.abort()
  await ended
})
