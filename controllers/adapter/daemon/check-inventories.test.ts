/** Inventories that come to be after a manager has read them. */
import { expect, test } from 'vitest'
import type { ApiRequest, Transport } from '#operator/client/transport.ts'
import { silent } from '#operator/model/log.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import { manualClock } from '#test/harness/index.ts'
import { MemoryCluster } from '#test/worlds/adapter/memory-cluster.ts'
import type { HttpClient } from '../http/client.ts'
import { InventoryStore } from '../inventory/inventory-store.ts'
import { taskLanguages } from '../language/task-languages.ts'
import { loadTask } from '../task/load-task.ts'
import { checkInventories } from './check-inventories.ts'

const ENTRY = { resource: 'r', apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'x', generation: 1 }
const entry = { ...ENTRY, propagationPolicy: 'Background' as const }
const event = { id: 'c1', kind: 'Cluster' }
const { signal } = new AbortController()

/** The stores of a manager and of the one after it. */
const two = () => {
  const cluster = new MemoryCluster()
  const transport = { request: async (sent: ApiRequest) => cluster.request(sent) } as unknown as Transport
  const clock = manualClock()
  const of = {
    transport,
    namespace: 'n',
    task: 'own',
    adapter: 'own',
    serviceAccountName: 'own',
    keepsEmpty: false,
    clock,
  }
  return { before: new InventoryStore(of), after: new InventoryStore(of), clock }
}

test('ADAPTER-98: an inventory that is created late, by a request of before, hinders no run', async () => {
  const { before, after } = two()
  await after.load(signal)
  const mark = await before.of(event).intend([entry], signal)
  expect(await after.of(event).intend([entry], signal)).toBe(mark)
})

test('ADAPTER-98: an inventory that is created late is found, although no event tells of its resource', async () => {
  const { before, after, clock } = two()
  await after.load(signal)
  await before.of(event).intend([entry], signal)
  const ending = new AbortController()
  const lost: string[] = []
  const checking = checkInventories({
    task: loadTask(
      { resources: [] },
      { languages: taskLanguages(() => clock.now()), adapter: { name: 'own', version: '1' }, environment: {} },
    ),
    resourceType: 'clusters',
    inventories: after,
    apiClient: { send: async () => ({ body: { items: [] } }) } as unknown as HttpClient,
    isSelected: () => true,
    onLeft: () => {},
    soon: new WakeSignal(clock),
    startLook: () => (found) => {
      lost.push(...found.map(({ owner }) => owner.event.id))
      return new Set()
    },
    clock,
    log: silent,
    signal: ending.signal,
  })
  await clock.advance(30_000)
  expect(lost).toEqual(['c1'])
  ending.abort()
  await checking
})
