import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { consumerGroup } from '#apis/hyperfleet.redhat.com/consumer-group.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { muster } from '../cmd/run.ts'
import { type AdapterWorld, adapterWorld, type Manager, namespaceAndConfig, PATIENCE } from './world.ts'

let world: AdapterWorld
let manager: Manager

beforeAll(async () => {
  world = await adapterWorld()
  await world.declare('life', namespaceAndConfig())
  manager = await world.manager()
  await world.until('life', 'Working')
})

afterAll(async () => {
  await world[Symbol.asyncDispose]()
})

const configOf = (id: string) => `/api/v1/namespaces/c-${id}/configmaps/config`

const ready = (id: string) =>
  vi.waitFor(async () => {
    const cluster = await world.cluster(id)
    expect(cluster?.status.phase).toBe('Ready')
    return cluster
  }, PATIENCE)

const gone = (id: string) => vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)

const made = async (name: string): Promise<string> => {
  const { id } = await world.create(name)
  await world.pulse(id)
  await ready(id)
  return id
}

describe('from POST to gone', () => {
  test('ADAPTER-25, create: what the task says is applied with our labels, and the cluster is Ready', async () => {
    const id = await made('create')
    const config = await world.object(configOf(id))
    expect(config).toMatchObject({ data: { name: 'create', generation: '1' } })
    expect(config?.metadata.labels).toMatchObject({ 'muster.dev/resource-id': id })
    expect(config?.metadata.annotations).toMatchObject({ 'hyperfleet.io/generation': '1' })
    expect(await world.reported(id, 'life')).toEqual([
      'Applied True Applied',
      'Available True Available',
      'Health True Healthy',
      'Finalized False NotDeleting',
    ])
  })

  test('ADAPTER-24, update: Ready at the new generation, and what others wrote beside ours stays', async () => {
    const id = await made('update')
    await world.plane.rest('PATCH', configOf(id), { metadata: { annotations: { 'other.io/x': 'kept' } } })
    await world.call('PATCH', `/clusters/${id}`, { spec: { region: 'eu' } })
    await world.pulse(id)
    const cluster = await ready(id)
    expect(cluster?.generation).toBe(2)
    const config = await world.object(configOf(id))
    expect(config).toMatchObject({ data: { generation: '2' } })
    expect(config?.metadata.annotations).toMatchObject({ 'other.io/x': 'kept', 'hyperfleet.io/generation': '2' })
  })

  test('ADAPTER-35, delete: in the order of the list backwards, and nothing is left', async () => {
    const id = await made('delete')
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulse(id)
    await gone(id)
    expect(await world.object(`/api/v1/namespaces/c-${id}`)).toBeUndefined()
  })

  test('ADAPTER-49: the same name again at once is another cluster', async () => {
    const id = await made('again')
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulse(id)
    await gone(id)
    const second = await made('again')
    expect(second).not.toBe(id)
  })
})

describe('ADAPTER-26: drift', () => {
  test('an object that another client changed is repaired at once, without a pulse', async () => {
    const id = await made('tampered')
    await world.plane.rest('PATCH', configOf(id), {
      data: { name: 'tampered with' },
      metadata: { labels: { 'muster.dev/resource-id': 'x' } },
    })
    await vi.waitFor(async () => {
      const config = await world.object(configOf(id))
      expect(config).toMatchObject({ data: { name: 'tampered' } })
      expect(config?.metadata.labels).toMatchObject({ 'muster.dev/resource-id': id })
    }, PATIENCE)
  })

  test('an object that another client deleted is created again at once', async () => {
    const id = await made('removed')
    const before = await world.object(configOf(id))
    await world.plane.rest('DELETE', configOf(id))
    await vi.waitFor(async () => {
      const config = await world.object(configOf(id))
      expect(config).toBeDefined()
      expect(config?.metadata.uid).not.toBe(before?.metadata.uid)
    }, PATIENCE)
  })
})

describe('a deletion that can’t go on', () => {
  test('ADAPTER-41: a foreign finalizer: Applied stays True and the report names it; it goes on when the finalizer goes', async () => {
    const id = await made('held')
    await world.plane.rest('PATCH', configOf(id), { metadata: { finalizers: ['example.com/hold'] } })
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulse(id)
    await vi.waitFor(async () => expect(await world.reported(id, 'life')).toContain('Applied True Deleting'), PATIENCE)
    expect((await world.cluster(id))?.deleted_time).toBeDefined()
    // ADAPTER-85: what is left is listed with its finalizers, and for people.
    const { remaining } = (await world.call<{ remaining: object[] }>('GET', `/clusters/${id}/explain`)) ?? {}
    expect(remaining?.map((one) => (one as { object?: object }).object)).toEqual([
      { kind: 'Namespace', name: `c-${id}` },
      { kind: 'ConfigMap', namespace: `c-${id}`, name: 'config', finalizers: ['example.com/hold'] },
    ])
    const why = await muster(['why', `Cluster/${id}`, `--hyperfleet-api-url=${world.url}`])
    expect(why.output).toContain(`ConfigMap c-${id}/config, held by example.com/hold`)
    expect((await world.object(`/api/v1/namespaces/c-${id}`))?.metadata.deletionTimestamp).toBeUndefined()
    expect((await world.task('life')).status).toBeDefined()
    await world.plane.rest('PATCH', configOf(id), { metadata: { finalizers: null } })
    await gone(id)
  })

  test('ADAPTER-49: deleted while it is being created', async () => {
    const { id } = await world.create('hasty')
    await world.pulse(id)
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulse(id, 'Deleting')
    await gone(id)
    await vi.waitFor(async () => expect(await world.object(`/api/v1/namespaces/c-${id}`)).toBeUndefined(), PATIENCE)
  })
})

test('the counts of the task are in its status and in the metrics', async () => {
  await vi.waitFor(async () => expect((await world.task('life')).status?.processed).toBeGreaterThan(5), PATIENCE)
  expect((await world.task('life')).status).toMatchObject({ failing: 0, deleting: 0, stuck: 0, deadLetters: 0 })
  const text = await manager.registry.metrics()
  expect(text).toMatch(/hyperfleet_adapter_events_processed_total\{adapter_name="life-[^"]+",status="success"\} \d+/)
})

test('ADAPTER-21: a deleted task removes its consumer group at the API; one that its spec names stays, as other tasks may use it', async () => {
  const inGroup = (group: string) => world.call('GET', `/events/consumers/${group}/dead-letters`)
  await world.declare('leaving', namespaceAndConfig())
  await world.declare('leaving-others', {
    ...namespaceAndConfig(),
    events: { consumer: 'shared', transport: 'api', maxConcurrent: 16, visibility: '30s' },
  })
  const own = consumerGroup(world.namespace, 'leaving')
  for (const name of ['leaving-others', 'leaving']) {
    await world.until(name, 'Working')
    await world.kube.delete(AdapterTask, name, world.namespace)
  }
  await vi.waitFor(async () => expect(await inGroup(own)).toBeUndefined(), PATIENCE)
  const released = /lease released .*"adapter-leaving-others"/
  await vi.waitFor(() => expect(manager.lines.some((line) => released.test(line))).toBe(true), PATIENCE)
  expect(await inGroup('shared')).toBeDefined()
  expect(await inGroup(consumerGroup(world.namespace, 'life'))).toBeDefined()
})
