/** No failure of a deletion is swallowed, and none opens its gate: on the real API server and API. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import { type AdapterWorld, adapterWorld, type Condition } from './world.ts'

let world: AdapterWorld

const SETTLED = { timeout: 60_000, interval: 200 }

beforeAll(async () => {
  world = await adapterWorld()
  await world.manager()
})

afterAll(() => world?.[Symbol.asyncDispose]())

/** A task of one ConfigMap for clusters that have its label. */
const declare = async (name: string, spec: object): Promise<void> => {
  const metadata = { name: `${name}-{{ .clusterId }}`, namespace: world.namespace }
  await world.declare(name, {
    selector: { matchLabels: { [name]: 'yes' } },
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    resources: [
      {
        name: 'one',
        manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata },
        discovery: { namespace: world.namespace, by_name: metadata.name },
      },
    ],
    ...spec,
  } as DeepPartial<AdapterTaskSpec>)
  await world.until(name, 'Working')
}

const ready = async (name: string): Promise<string> => {
  const { id } = await world.create(name, {}, { [name]: 'yes' })
  await world.pulsedUntil(id, async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'))
  return id
}

const isThere = async (name: string, id: string) =>
  (await world.object(`/api/v1/namespaces/${world.namespace}/configmaps/${name}-${id}`)) !== undefined

const goes = async (name: string, id: string) => {
  await world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())
  expect(await isThere(name, id)).toBe(false)
}

const explained = (id: string) =>
  world.call<{ adapters: { adapter: string; report?: { conditions?: Condition[] } }[] }>(
    'GET',
    `/clusters/${id}/explain`,
  )

test('API-48, ADAPTER-7: in a deletion a precondition meets a 404 of something else: Health says so beside what was available, it waits, and goes on once that is there', async () => {
  const other = (await world.create('other')).id
  await declare('asking', { preconditions: [{ name: 'other', api_call: { url: `/clusters/${other}` } }] })
  const id = await ready('asking')
  await world.call('DELETE', `/clusters/${other}`)
  expect(await world.cluster(other)).toBeUndefined()
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulsedUntil(id, async () => {
    const reported = await world.reported(id, 'asking')
    expect(reported).toContainEqual(expect.stringMatching(/^Health False /))
    expect(reported).toContainEqual(expect.stringMatching(/^Available True /))
  })
  // What the task counts is written a moment after the run.
  await vi.waitFor(
    async () => expect((await world.task('asking')).status).toMatchObject({ deleting: 1, failing: 1 }),
    SETTLED,
  )
  expect(JSON.stringify(await explained(id))).toContain('asking')
  expect(await isThere('asking', id)).toBe(true)
  expect((await world.cluster(id))?.deleted_time).toBeDefined()
  await world.change('asking', { preconditions: [] })
  await goes('asking', id)
})

test('ADAPTER-70: a task that does not take a deleted cluster for deleted, and whose precondition is not met: the record stays as long as its object', async () => {
  await declare('looking-away', {
    when_deleting: 'false',
    preconditions: [{ name: 'alive', expression: '!has(resource.deleted_time)' }],
  })
  const id = await ready('looking-away')
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulsedUntil(id, async () => {
    const { lastRuns = [] } = (await world.task('looking-away')).status ?? {}
    expect(lastRuns[0]).toMatchObject({ status: 'skipped', message: expect.stringContaining('alive') })
  })
  expect(await world.reported(id, 'looking-away')).toContainEqual(expect.stringMatching(/^Applied True /))
  expect((await world.cluster(id))?.deleted_time).toBeDefined()
  expect(await isThere('looking-away', id)).toBe(true)
  await world.change('looking-away', { when_deleting: null, preconditions: [] })
  await goes('looking-away', id)
})

test('ADAPTER-71: when_deleting as the design writes it: applied while the cluster lives, deleted with it', async () => {
  await declare('as-written', {
    preconditions: [
      {
        name: 'cluster',
        api_call: { url: '/clusters/{{ .clusterId }}' },
        capture: [{ name: 'deletionTimestamp', field: 'deleted_time' }],
      },
    ],
    when_deleting: "deletionTimestamp != ''",
  })
  const id = await ready('as-written')
  expect(await isThere('as-written', id)).toBe(true)
  await world.call('DELETE', `/clusters/${id}`)
  await goes('as-written', id)
})
