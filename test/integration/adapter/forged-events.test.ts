/** What reaches an adapter says that it is about a record of another tenant: labels on an object, an event, an answer. On real NATS and the real API. */
import { jetstream } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { DeepPartial, KubeObject } from '#operator/model/resource.ts'
import { startNats } from '#test/harness/index.ts'
import { type ApiFront, type ApiRequest, apiFront } from './api-front.ts'
import { type AdapterWorld, adapterWorld, type Cluster } from './world.ts'

const SETTLED = { timeout: 60_000, interval: 100 }
const BASE = '/api/hyperfleet/v1'
/** Of a ConfigMap with what the record says. */
const TASK = 'guarded'

let nats: Awaited<ReturnType<typeof startNats>>
let connection: NatsConnection
let world: AdapterWorld
let front: ApiFront
/** What the adapter has asked the API for since the test began. */
let asked: ApiRequest[]
let victim: Cluster

/** The attacker's own records: one lives, one is being deleted, one is gone. */
const records: Record<'living' | 'deleting' | 'gone', string> = { living: '', deleting: '', gone: '' }

beforeAll(async () => {
  nats = await startNats()
  connection = await connect({ servers: nats.url })
  world = await adapterWorld({ natsUrl: nats.url })
  front = await apiFront(world.url)
  await world.manager(undefined, { httpTargets: [front.url], natsServers: [nats.url] })
  await world.declare(TASK, {
    hyperfleetAPI: { url: front.url },
    events: { transport: 'nats', url: nats.url },
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    selector: { matchLabels: { task: TASK } },
    resources: [
      {
        name: 'own',
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'own-{{ .clusterId }}', namespace: world.namespace },
          data: { record: '{{ .resource.name }}' },
        },
        discovery: { namespace: world.namespace, by_name: 'own-{{ .clusterId }}' },
      },
    ],
  } as DeepPartial<AdapterTaskSpec>)
  await world.until(TASK, 'Working')
  for (const name of ['living', 'deleting', 'gone'] as const)
    records[name] = (await world.create(`attackers-${name}`, {}, { task: TASK })).id
  // An adapter of the attacker's that never lets it go.
  const conditions = ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' }))
  const report = { adapter: 'attackers', observed_generation: 1, conditions }
  await world.call('PUT', `/clusters/${records.deleting}/statuses`, report)
  for (const id of [records.deleting, records.gone]) await world.call('DELETE', `/clusters/${id}`)
  await vi.waitFor(async () => expect(await world.cluster(records.gone)).toBeUndefined(), SETTLED)
})

afterAll(async () => {
  await connection?.close()
  await world?.[Symbol.asyncDispose]()
  await front?.stop()
  await nats?.stop()
})

beforeEach(async () => {
  asked = []
  front.decide((request) => {
    asked.push(request)
    return 'pass'
  })
  victim = await world.create(`victim-${crypto.randomUUID().slice(0, 8)}`, {}, { task: TASK })
  // Once, so that nothing about it is under way when the attack begins.
  await world.pulse(victim.id)
  await vi.waitFor(async () => {
    expect((await world.cluster(victim.id))?.status.phase).toBe('Ready')
    expect(await runsOf(victim.id)).toHaveLength(1)
  }, SETTLED)
  expect((await world.cluster(records.deleting))?.deleted_time).toBeDefined()
  asked = []
})

const collection = () => `/api/v1/namespaces/${world.namespace}/configmaps`
const ownOf = (id: string) => world.object(`${collection()}/own-${id}`)
const pathsOf = (method: string) => asked.filter((each) => each.method === method).map(({ path }) => path)
const hrefOf = (id: string) => `${BASE}/clusters/${id}`
const isAsked = (id: string) => pathsOf('GET').some((path) => path.startsWith(hrefOf(id)))

/** Of the runs of the task, newest first: which resource they were about, and what they say. */
const runsOf = async (id: string) =>
  ((await world.task(TASK)).status?.lastRuns ?? []).filter(({ resource }) => resource === id)

/** The attacker changes what was applied for a record of theirs, as they may: the adapter sees it, and whatever came before, and puts it right. */
const seenByAdapter = async (event: object): Promise<void> => {
  const path = `${collection()}/own-${records.living}`
  const annotations = { 'muster.dev/event': JSON.stringify(event) }
  await world.plane.rest('PATCH', path, { metadata: { annotations }, data: { record: 'changed' } })
  await vi.waitFor(
    async () => expect(await ownOf(records.living)).toMatchObject({ data: { record: 'attackers-living' } }),
    SETTLED,
  )
}

describe('an object with an event, which leads to a record that', () => {
  test.each(['living', 'deleting', 'gone'] as const)(
    'ADAPTER-65: attack: an object carries an adapter’s label, and an event about another tenant’s record: no run, and the object of that tenant is neither deleted nor overwritten: %s',
    async (name) => {
      await world.pulsedUntil(records.living, async () => expect(await ownOf(records.living)).toBeDefined())
      const before = await ownOf(victim.id)
      expect(before).toMatchObject({ data: { record: expect.stringMatching(/^victim-/) } })
      const runs = await runsOf(victim.id)
      asked = []

      const event = { id: victim.id, kind: 'Cluster', href: hrefOf(records[name]), generation: 1 }
      const metadata = {
        name: `forged-${name}`,
        labels: {
          'muster.dev/adapter': `${TASK}-${world.namespace.slice(-8)}`,
          'muster.dev/resource-id': victim.id,
        },
        annotations: {
          'muster.dev/event': JSON.stringify(event),
          'muster.dev/inventory': before?.metadata.annotations?.['muster.dev/inventory'] ?? '',
        },
      }
      await world.plane.rest('POST', collection(), { metadata })
      await world.plane.rest('PATCH', `${collection()}/forged-${name}`, { data: { changed: 'yes' } })
      await seenByAdapter(event)
      await world.plane.rest('DELETE', `${collection()}/forged-${name}`)
      await seenByAdapter(event)

      expect(await ownOf(victim.id)).toEqual(before)
      expect(isAsked(victim.id)).toBe(false)
      if (name !== 'living') expect(isAsked(records[name])).toBe(false)
      expect(pathsOf('PUT').filter((path) => path.includes(victim.id))).toEqual([])
      expect(await runsOf(victim.id)).toEqual(runs)
    },
  )
})

/** That a run about the victim was refused, and nothing was done to its object and said about it. */
const expectRefused = async (before: KubeObject | undefined, why: RegExp): Promise<void> => {
  await vi.waitFor(
    async () =>
      expect(await runsOf(victim.id)).toContainEqual(
        expect.objectContaining({ status: 'failed', message: expect.stringMatching(why) }),
      ),
    SETTLED,
  )
  expect(await ownOf(victim.id)).toEqual(before)
  expect(pathsOf('PUT').filter((path) => path.endsWith('/statuses'))).toEqual([])
}

describe('an event that', () => {
  test.each([
    ['leads to a record that lives', () => ({ href: hrefOf(records.living) }), /href is/],
    ['leads to a record that is being deleted', () => ({ href: hrefOf(records.deleting) }), /href is/],
    ['leads to a record that is gone', () => ({ href: hrefOf(records.gone) }), /href is/],
    ['says that it is of another kind', () => ({ kind: 'NodePool', href: hrefOf(victim.id) }), /kind is/],
  ])(
    'ADAPTER-68: attack: an event in the stream is about another tenant’s record, and leads elsewhere: it is refused, and the object of that tenant is neither deleted nor overwritten: %s',
    async (_, rest, why) => {
      const before = await ownOf(victim.id)
      const data = { id: victim.id, kind: 'Cluster', generation: 1, ...rest() }
      const event = {
        specversion: '1.0',
        id: crypto.randomUUID(),
        type: 'com.redhat.hyperfleet.cluster.reconcile',
        data,
      }
      await jetstream(connection).publish('hyperfleet.events.clusters', JSON.stringify(event))
      await expectRefused(before, why)
    },
  )
})

describe('an answer with another', () => {
  test.each([
    ['id', () => records.deleting],
    ['kind', () => 'NodePool'],
    ['href', () => hrefOf(records.deleting)],
  ])(
    'ADAPTER-68: attack: the API’s answer about a tenant’s record is changed on its way, to a record in deletion: it is refused, and the object of that tenant is neither deleted nor overwritten: %s',
    async (field, value) => {
      const before = await ownOf(victim.id)
      const altered = (answer: string) =>
        JSON.stringify({ ...JSON.parse(answer), deleted_time: new Date().toISOString(), [field]: value() })
      front.decide((request) => {
        asked.push(request)
        return request.method === 'GET' && request.path === hrefOf(victim.id) ? { altered } : 'pass'
      })
      await world.pulse(victim.id)
      await expectRefused(before, new RegExp(`${field} is`))
    },
  )
})
