/** What the API requires, beside the tasks that there are. docs/api-kinds.md. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { type AdapterWorld, adapterWorld, type Manager, namespaceAndConfig, PATIENCE } from './world.ts'

const suffix = randomUUID().slice(0, 8)
const [dns, net, gone, far] = ['dns', 'net', 'gone', 'far'].map((name) => `${name}-${suffix}`) as [
  string,
  string,
  string,
  string,
]

let world: AdapterWorld
let manager: Manager

beforeAll(async () => {
  world = await adapterWorld({
    entities: [{ kind: 'Cluster', plural: 'clusters', required_adapters: [dns, gone, far] }],
  })
  for (const name of [dns, net]) await world.declare(name, { adapter: { name }, ...namespaceAndConfig() })
  manager = await world.manager(undefined, { elsewhere: [far] })
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

const required = async (name: string) => findCondition((await world.task(name)).status?.conditions ?? [], 'Required')

const series = async (name: string) => {
  const metric = await manager.registry.getSingleMetric(name)?.get()
  return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [labels.adapter_name, value]))
}

// Journey 3. ADAPTER-99, ADAPTER-100, ADAPTER-135
test('a required adapter without a task, and a task that is not required, are told by condition, metric and log', async () => {
  await vi.waitFor(async () => {
    expect(await required(dns)).toMatchObject({
      status: 'True',
      reason: 'OthersHaveNoTask',
      message: expect.stringContaining(`each waits for ${gone} too`),
    })
    expect(await required(net)).toMatchObject({
      status: 'False',
      reason: 'NotRequired',
      message: expect.stringContaining(`write ${net} in required_adapters of Cluster`),
    })
  }, PATIENCE)
  expect(await series('hyperfleet_adapter_required_adapters_without_task')).toEqual({ [dns]: 0, [gone]: 1 })
  expect(await series('hyperfleet_adapter_tasks_not_required')).toEqual({ [dns]: 0, [net]: 1 })
  await vi.waitFor(() => expect(manager.lines.join('\n')).toContain(`${gone} of each Cluster`), PATIENCE)
})

// API-101
test('why a cluster waits says that no resource ever heard of the adapter', async () => {
  const { id } = await world.create('waits')
  const { waits_for: waits } = (await world.call<{ waits_for: string[] }>('GET', `/clusters/${id}/explain`)) ?? {}
  expect(waits).toContain(`adapter ${gone}: it has never reported, on no Cluster at all: is there a task for it?`)
})

// ADAPTER-100
test('a task whose annotation says why it is not required alarms no person', async () => {
  await world.kube.patch(AdapterTask, {
    name: net,
    namespace: world.namespace,
    type: 'merge',
    body: { metadata: { annotations: { 'muster.dev/not-required': 'it only counts' } } },
  })
  await vi.waitFor(
    async () => expect(await series('hyperfleet_adapter_tasks_not_required')).toEqual({ [dns]: 0, [net]: 0 }),
    PATIENCE,
  )
})

// ADAPTER-99
test('a task that is deleted is missed at once', async () => {
  await world.kube.delete(AdapterTask, dns, world.namespace)
  await vi.waitFor(
    async () =>
      expect(await series('hyperfleet_adapter_required_adapters_without_task')).toEqual({ [dns]: 1, [gone]: 1 }),
    PATIENCE,
  )
})
