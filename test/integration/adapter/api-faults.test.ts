/** The HyperFleet API fails at each thing that a run asks of it, for longer than a request is tried: what was asked for is done in the end. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { consumerGroup } from '#apis/hyperfleet.redhat.com/consumer-group.ts'
import { parseDuration } from '#operator/model/duration.ts'
import { type ApiFate, type ApiFront, type ApiRequest, apiFront } from './api-front.ts'
import { type AdapterWorld, adapterWorld, PATIENCE } from './world.ts'

let world: AdapterWorld
let front: ApiFront
/** By what is in the path. */
const rules = new Map<string, (request: ApiRequest) => ApiFate>()
/** The cluster whose events come without their data. */
let spoilt: string | undefined

/**
 * Pulses come no faster than runs end: each pulse about work that is under way is one more event, which is kept hidden from others
 * by requests of its own.
 */
const SETTLED = { timeout: 90_000, interval: 2_000 }
vi.setConfig({ testTimeout: 120_000, maxConcurrency: 15 })

beforeAll(async () => {
  world = await adapterWorld()
  front = await apiFront(world.url)
  front.decide((request) => {
    for (const [id, rule] of rules) if (request.path.includes(id)) return rule(request)
    return 'pass'
  })
  // From the start: a claim that waits was decided upon before the event was there.
  rules.set('/claims', ({ method }) => (method === 'POST' ? { altered: withoutData } : 'pass'))
  await world.declare('asking', {
    // Nothing here is about slowness: on a busy machine an answer may take seconds, and a request that runs out of time is a fault too.
    hyperfleetAPI: { url: front.url, timeout: '15s' },
    params: [
      { name: 'clusterId', source: 'event.id', required: true },
      {
        name: 'adapters',
        source: { api_call: { url: '/clusters/{{ .clusterId }}/statuses', retry_attempts: 2, base_delay: '100ms' } },
        required: true,
      },
      { name: 'count', source: { expression: 'adapters.items.size()' } },
    ],
    resources: [
      {
        name: 'config',
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'asking-{{ .clusterId }}', namespace: world.namespace },
          data: { adapters: '{{ .count }}' },
        },
        discovery: { namespace: world.namespace, by_name: 'asking-{{ .clusterId }}' },
      },
    ],
  })
  await world.manager(undefined, { httpTargets: [front.url] })
  await world.until('asking', 'Working')
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await front?.stop()
})

const configOf = (id: string) => world.object(`/api/v1/namespaces/${world.namespace}/configmaps/asking-${id}`)

/** Pulses as a Sentinel does, until the cluster is as it should be. */
const untilPhase = (id: string, phase: 'Ready' | undefined) =>
  vi.waitFor(async () => {
    const found = await world.cluster(id)
    if (found !== undefined && found.status.phase !== phase) await world.pulse(id)
    expect(found?.status.phase).toBe(phase)
  }, SETTLED)

interface Fault {
  /** Requests that it has met. */
  readonly met: number
  /** Counts anew. */
  restart(): void
}

/** Meets requests of a cluster that fit with a fate, until it has met so many. */
const meet = (id: string, times: number, fits: (request: ApiRequest) => boolean, fate: ApiFate): Fault => {
  let met = 0
  rules.set(id, (request) => {
    if (met >= times || !fits(request)) return 'pass'
    met++
    return fate
  })
  return {
    get met() {
      return met
    },
    restart: () => {
      met = 0
    },
  }
}

const isResource = ({ method, path }: ApiRequest) => method === 'GET' && /\/clusters\/[^/]+$/.test(path)
const isParam = ({ method, path }: ApiRequest) => method === 'GET' && path.endsWith('/statuses')
const isReport = ({ method, path }: ApiRequest) => method === 'PUT' && path.endsWith('/statuses')

const FATES: readonly (readonly [string, ApiFate])[] = [
  ['500', { status: 500 }],
  ['403', { status: 403 }],
  ['a connection that breaks', 'drop'],
]
/** More than the tries of one request. */
const TIMES = 4

let count = 0

describe.concurrent.each(FATES)('%s from the HyperFleet API', (_, fate) => {
  test.each([
    ['reading the resource', isResource],
    ['a param that asks it', isParam],
    ['reporting', isReport],
  ])('when %s: nothing is half done, and the cluster is Ready in the end', async (_step, fits) => {
    const { id } = await world.create(`living-${count++}`)
    const fault = meet(id, TIMES, fits, fate)
    await untilPhase(id, 'Ready')
    expect(fault.met).toBeGreaterThan(0)
    expect(await configOf(id)).toMatchObject({ data: { adapters: expect.stringMatching(/^[0-9]+$/) } })
  })

  test.each([
    ['reading the resource', isResource],
    ['reporting', isReport],
  ])(
    'when %s of what is being deleted: the record goes only after everything that was applied',
    async (_step, fits) => {
      const { id } = await world.create(`leaving-${count++}`)
      await untilPhase(id, 'Ready')
      // A late run of the living cluster may meet it first: what counts is what comes after the DELETE.
      const fault = meet(id, TIMES, fits, fate)
      await world.call('DELETE', `/clusters/${id}`)
      fault.restart()
      await untilPhase(id, undefined)
      expect(fault.met).toBeGreaterThan(0)
      expect(await configOf(id)).toBeUndefined()
    },
  )
})

test('a param that can’t be had for long: nothing is applied, and the report says which request failed', async () => {
  const { id } = await world.create('without')
  rules.set(id, (request) => (isParam(request) ? { status: 503 } : 'pass'))
  await world.pulse(id)
  await vi.waitFor(
    async () => expect(await world.reported(id, 'asking')).toContain('Health False ParamMissing'),
    PATIENCE,
  )
  expect(await configOf(id)).toBeUndefined()
  rules.delete(id)
  await untilPhase(id, 'Ready')
})

test('a report that is not taken: the event comes again by itself, without another pulse', async () => {
  const { id } = await world.create('untold')
  let isAway = true
  let refused = 0
  rules.set(id, (request) => {
    if (!isReport(request) || !isAway) return 'pass'
    refused++
    return { status: 503 }
  })
  await world.pulse(id)
  await vi.waitFor(() => expect(refused).toBeGreaterThan(0), PATIENCE)
  isAway = false
  await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), SETTLED)
})

test('ADAPTER-22: what could not be reported runs again once reports are taken: its event is not awaited', async () => {
  const { id } = await world.create('unheard')
  let [isAway, isSilent] = [true, false]
  rules.set(id, (request) => (isReport(request) && isAway ? { status: 503 } : 'pass'))
  const before = rules.get('/claims') ?? (() => 'pass')
  // Once the event was given back, no event comes any more.
  rules.set('/claims', (request) => {
    if (isGiveBack(request)) [isAway, isSilent] = [false, true]
    if (request.method !== 'POST') return before(request)
    return { altered: (answer) => (isSilent ? '{"items": []}' : withoutData(answer)) }
  })
  try {
    await world.pulse(id)
    await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)
    expect(isAway).toBe(false)
  } finally {
    // Also of a claim that waits for its answer.
    isSilent = false
    rules.set('/claims', before)
  }
})

/** Not one that keeps a claim for longer, which is for more seconds. */
const isGiveBack = ({ method, body }: ApiRequest) =>
  method === 'PATCH' && parseDuration(/"visibility":"([^"]+)"/.exec(body)?.[1] ?? '1m') <= 6_000

test('a resource that the API does not know any more: the run ends in peace, and nothing is said', async () => {
  const { id } = await world.create('unknown')
  let reports = 0
  rules.set(id, (request) => {
    if (isReport(request)) reports++
    return isResource(request) ? { status: 404 } : 'pass'
  })
  const skipped = (await world.task('asking')).status?.skipped ?? 0
  await world.pulse(id)
  await vi.waitFor(async () => expect((await world.task('asking')).status?.skipped).toBeGreaterThan(skipped), PATIENCE)
  expect([reports, await configOf(id)]).toEqual([0, undefined])
})

test('a message of the API’s queue that is no event is among its dead letters at once, holds no event up, and can be replayed', async () => {
  const { id } = await world.create('spoilt')
  const group = `/events/consumers/${consumerGroup(world.namespace, 'asking')}`
  spoilt = id
  await world.pulse(id)
  await vi.waitFor(async () => expect((await world.task('asking')).status).toMatchObject({ deadLetters: 1 }), PATIENCE)
  const letters = await world.call<{ items: { id: string; deliveries: number }[] }>('GET', `${group}/dead-letters`)
  expect(letters?.items).toEqual([expect.objectContaining({ id: expect.stringContaining(id), deliveries: 1 })])

  const other = await world.create('beside')
  await untilPhase(other.id, 'Ready')
  spoilt = undefined
  await world.call('POST', `${group}/dead-letters/${letters?.items[0]?.id}/replay`)
  await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), SETTLED)
})

/** Claims in which the events about the spoilt cluster have lost their data. */
const withoutData = (answer: string): string => {
  if (spoilt === undefined) return answer
  const { items = [], ...rest } = JSON.parse(answer) as { items?: { event: { data?: { id: string } } }[] }
  for (const { event } of items) if (event.data?.id === spoilt) delete event.data
  return JSON.stringify({ ...rest, items })
}
