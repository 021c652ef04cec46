/** The Sentinel against an API that knows only the dialect of the field: it works by polling and never widens its shard. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type ManualClock, manualClock } from '#test/harness/index.ts'
import { type PeerDialect, type PeerOptions, startPeerDialect } from '#test/harness/peer-dialect.ts'
import { PATIENCE, type SentinelWorld, sentinelWorld } from './world.ts'

let clock: ManualClock
let world: SentinelWorld
let peer: PeerDialect

const standUp = async (options: Partial<PeerOptions> = {}) => {
  clock = manualClock()
  peer = await startPeerDialect({ clock, ...options })
}

beforeEach(async () => {
  await standUp()
  world = await sentinelWorld()
})

afterEach(async () => {
  await world[Symbol.asyncDispose]()
  await peer.stop()
})

const declare = (name: string, spec: object = {}) =>
  world.declare(name, {
    resourceType: 'clusters',
    hyperfleetAPI: { url: peer.url },
    pollInterval: '5s',
    shardSelector: { matchLabels: { region: 'us-east' } },
    ...spec,
  })

const EAST = { region: 'us-east' }

/** The pulses so far, as `id reason`, in order of ids. */
const pulses = () => peer.events.map(({ resourceId, reason }) => `${resourceId} ${reason}`).toSorted()

/** Lets one poll interval pass, and the poll it leads to finish. */
const poll = async () => {
  await idle()
  const lists = () => peer.requests.filter((request) => request.startsWith('GET')).length
  const before = lists()
  await clock.advance('5s')
  await vi.waitFor(() => expect(lists()).toBeGreaterThan(before), PATIENCE)
  await idle()
}

/** Waits until the poll is over: the loop sleeps until the next one. Time that passes before that is not noticed. */
const idle = async () => {
  await vi.waitFor(() => expect(clock.sleepers()).toBeGreaterThanOrEqual(2), PATIENCE)
  await settle()
}

/** Waits until the API is asked nothing more. */
const settle = async () => {
  for (let quiet = 0, seen = -1; quiet < 3; quiet = seen === peer.requests.length ? quiet + 1 : 0) {
    seen = peer.requests.length
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}

test('new, not ready, ready, changed and deleted resources are pulsed as against our own API', async () => {
  peer.create('clusters', { id: 'a', labels: EAST })
  await declare('east')
  await world.start(clock)
  await world.until('east', 'Polling')
  await vi.waitFor(() => expect(pulses()).toEqual(['a New']), PATIENCE)

  await poll()
  expect(pulses()).toEqual(['a New'])
  await poll()
  await vi.waitFor(() => expect(pulses()).toEqual(['a New', 'a NotReadyBackoffExpired']), PATIENCE)

  peer.report('a', true)
  peer.events.length = 0
  for (let minute = 0; minute < 2; minute++) await poll()
  expect(pulses()).toEqual([])

  peer.patch('a')
  await poll()
  await vi.waitFor(() => expect(pulses()).toEqual(['a SpecChanged']), PATIENCE)
  peer.delete('a')
  await poll()
  await vi.waitFor(() => expect(pulses()).toEqual(['a Deleting', 'a SpecChanged']), PATIENCE)
})

test('SENTINEL-7, SENTINEL-8: an API that has phases and no conditions is judged by the phase, and by its lastTransitionTime', async () => {
  const phase = (id: string, name: string) =>
    Object.assign(peer.get(id).status, { phase: name, lastTransitionTime: clock.now().toISOString() })
  for (const id of ['ready', 'slow']) peer.create('clusters', { id, labels: EAST, adapters: false })
  phase('ready', 'Ready')
  phase('slow', 'Provisioning')
  await declare('east')
  await world.start(clock)
  await world.until('east', 'Polling')
  await vi.waitFor(() => expect(pulses()).toEqual(['ready New', 'slow New']), PATIENCE)
  await vi.waitFor(
    async () => expect((await world.config('east')).status).toMatchObject({ ready: 1, notReady: 1 }),
    PATIENCE,
  )
  peer.events.length = 0
  await poll()
  expect(pulses()).toEqual([])
  await poll()
  await vi.waitFor(() => expect(pulses()).toEqual(['slow NotReadyBackoffExpired']), PATIENCE)
  await poll()
  phase('ready', 'Degraded')
  await poll()
  await vi.waitFor(() => expect(pulses()).toEqual(Array(2).fill('slow NotReadyBackoffExpired')), PATIENCE)
  expect(pulses()).not.toContain('ready NotReadyBackoffExpired')
  await poll()
  await vi.waitFor(() => expect(pulses()).toContain('ready NotReadyBackoffExpired'), PATIENCE)
})

// SENTINEL-22
test('a selector that the API ignores never widens the shard', async () => {
  peer.create('clusters', { id: 'ours', labels: EAST })
  peer.create('clusters', { id: 'theirs', labels: { region: 'us-west' } })
  peer.create('clusters', { id: 'unlabelled' })
  await declare('east')
  await world.start(clock)
  const { status } = await world.until('east', 'Polling')
  expect(status).toMatchObject({ source: 'Poll', resources: 1, shard: 'region=us-east' })
  await poll()
  await poll()
  expect(new Set(peer.events.map(({ resourceId }) => resourceId))).toEqual(new Set(['ours']))
  // Only the search for resources without an owner reads everything.
  const unlimited = peer.requests.filter((request) => request.startsWith('GET') && !request.includes('labels=region'))
  expect(unlimited).toHaveLength(1)
})

// SENTINEL-21
test('between sweeps it asks only for what may be due', async () => {
  for (let number = 0; number < 250; number++) peer.create('clusters', { id: `c${number}`, labels: EAST })
  await declare('east')
  await world.start(clock)
  await world.until('east', 'Polling')
  await vi.waitFor(() => expect(peer.events).toHaveLength(250), PATIENCE)
  for (let number = 0; number < 250; number++) peer.report(`c${number}`, true)
  // Everything changed a moment ago, so the first polls still see it.
  for (let number = 0; number < 9; number++) await poll()
  peer.requests.length = 0
  peer.events.length = 0
  peer.patch('c7')
  await poll()
  await vi.waitFor(() => expect(pulses()).toEqual(['c7 SpecChanged']), PATIENCE)
  const lists = peer.requests.filter((request) => request.startsWith('GET'))
  expect(lists).toHaveLength(3)
  expect(lists.every((request) => /search=.*(updated_time|last_updated_time)/.test(request))).toBe(true)
})

test('a ready resource that an adapter reports as broken is pulsed within a poll after 10 s, not after 30 min', async () => {
  peer.create('clusters', { id: 'a', labels: EAST })
  await declare('east')
  await world.start(clock)
  await world.until('east', 'Polling')
  await vi.waitFor(() => expect(pulses()).toEqual(['a New']), PATIENCE)
  peer.report('a', true)
  await poll()
  peer.events.length = 0
  peer.report('a', false)
  await poll()
  expect(pulses()).toEqual([])
  await poll()
  await vi.waitFor(() => expect(pulses()).toEqual(['a NotReadyBackoffExpired']), PATIENCE)
})

test('a resource that is deleted between two pages costs no other its pulse', async () => {
  for (let number = 100; number < 350; number++) peer.create('clusters', { id: `c${number}`, labels: EAST })
  peer.fault = ({ url }) => {
    if (url.searchParams.get('search')?.includes("id > 'c199'")) peer.remove('c150')
    return undefined
  }
  await declare('east')
  await world.start(clock)
  await world.until('east', 'Polling')
  await vi.waitFor(() => expect(peer.events.length).toBeGreaterThanOrEqual(249), PATIENCE)
  const told = new Set(peer.events.map(({ resourceId }) => resourceId))
  for (let number = 100; number < 350; number++) if (number !== 150) expect(told).toContain(`c${number}`)
})

test('an API that ignores search is paged by number: a doubled resource is pulsed once, a shifted one is not forgotten', async () => {
  await peer.stop()
  peer = await startPeerDialect({ clock, search: false })
  for (let number = 100; number < 350; number++) peer.create('clusters', { id: `c${number}`, labels: EAST })
  let shifted = false
  peer.fault = ({ url }) => {
    // An insert at the front shifts what was last on the first page onto the second.
    if (!shifted && url.searchParams.get('page') === '2') {
      shifted = true
      peer.create('clusters', { id: 'c000', labels: EAST })
    }
    return undefined
  }
  await declare('east')
  await world.start(clock)
  await world.until('east', 'Polling')
  await vi.waitFor(() => expect(peer.events).toHaveLength(250), PATIENCE)
  expect(new Set(peer.events.map(({ resourceId }) => resourceId)).size).toBe(250)
  peer.events.length = 0
  await poll()
  await vi.waitFor(() => expect(pulses()).toEqual(['c000 New']), PATIENCE)
})

// SENTINEL-24
test('a malformed item is skipped and counted, and the others of its page are pulsed', async () => {
  peer.create('clusters', { id: 'good', labels: EAST })
  const bad = peer.create('clusters', { id: 'bad', labels: EAST })
  Object.assign(bad, { generation: 'three' })
  await declare('east')
  const { registry, lines } = await world.start(clock)
  await world.until('east', 'Polling')
  await vi.waitFor(() => expect(pulses()).toEqual(['good New']), PATIENCE)
  expect(await registry.metrics()).toMatch(
    /malformed_items_total\{shard="region=us-east",resource_type="clusters"\} [1-9]/,
  )
  expect(lines.filter((line) => line.includes('item bad: generation must be a whole number'))).toHaveLength(1)
  Object.assign(bad, { generation: 3 })
  await poll()
  await vi.waitFor(() => expect(pulses()).toEqual(['bad New', 'good New']), PATIENCE)
})

// SENTINEL-26
test('a 5xx in the middle of a sweep forgets no resource, and the next poll goes on', async () => {
  for (let number = 100; number < 350; number++) peer.create('clusters', { id: `c${number}`, labels: EAST })
  let broken = true
  peer.fault = ({ url }) =>
    broken && url.searchParams.get('search')?.includes("id > 'c199'") ? { status: 502, body: 'bad gateway' } : undefined
  await declare('east')
  await world.start(clock)
  await world.until('east', 'APIUnreachable')
  broken = false
  await idle()
  await clock.advance('5s')
  await world.until('east', 'Polling')
  await vi.waitFor(() => expect(new Set(peer.events.map(({ resourceId }) => resourceId)).size).toBe(250), PATIENCE)
  expect(peer.events).toHaveLength(250)
})

test('an answer that does not come within the timeout is a failure, and the next poll goes on', async () => {
  peer.create('clusters', { id: 'a', labels: EAST })
  const answers = Promise.withResolvers<undefined>()
  peer.fault = () => answers.promise
  await declare('east', { hyperfleetAPI: { url: peer.url, timeout: '2s' } })
  await world.start(clock)
  const { status } = await world.until('east', 'APIUnreachable')
  expect(status?.lastError).toContain('no answer within 2 s')
  answers.resolve(undefined)
  await idle()
  await clock.advance('5s')
  await world.until('east', 'Polling')
  await vi.waitFor(() => expect(pulses()).toEqual(['a New']), PATIENCE)
})

test('an answer that is no list is a failure that says so', async () => {
  peer.fault = () => ({ status: 200, body: '<html>welcome</html>' })
  await declare('east')
  await world.start(clock)
  const { status } = await world.until('east', 'APIMalformed')
  expect(status?.lastError).toContain('no JSON')
})

// SENTINEL-17
test('Retry-After of the event gateway holds for all pulses, and each is sent once it is over', async () => {
  for (const id of ['a', 'b', 'c']) peer.create('clusters', { id, labels: EAST })
  let busy = true
  peer.fault = ({ method }) =>
    busy && method === 'POST' ? { status: 429, headers: { 'retry-after': '7' } } : undefined
  await declare('east')
  await world.start(clock)
  await world.until('east', 'EventsRefused')
  busy = false
  const asked = peer.requests.filter((request) => request.startsWith('POST')).length
  await poll()
  expect(peer.requests.filter((request) => request.startsWith('POST'))).toHaveLength(asked)
  await poll()
  await vi.waitFor(() => expect(pulses()).toEqual(['a New', 'b New', 'c New']), PATIENCE)
})
