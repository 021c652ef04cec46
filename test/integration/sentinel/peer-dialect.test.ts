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
  const lists = () => peer.requests.filter((request) => request.startsWith('GET')).length
  const before = lists()
  await clock.advance('5s')
  await vi.waitFor(() => expect(lists()).toBeGreaterThan(before), PATIENCE)
  // The poll is over when the loop sleeps again until the next one.
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
