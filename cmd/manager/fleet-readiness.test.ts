import { expect, test } from 'vitest'
import {
  initialSyncStates,
  type SyncStates,
  summarizeSync,
  withSyncEvent,
} from '#controllers/fleet/state/sync-state.ts'
import { fleetUnready } from './fleet-readiness.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const LEADING = { leading: undefined }

const viewRefOf = (states: SyncStates) => ({
  view: { recovery: () => ({ ...summarizeSync(states), isLeading: true, brake: undefined }) },
})

const read = (latches: SyncStates): SyncStates => {
  const feeds = Object.keys(latches) as (keyof SyncStates)[]
  return feeds.reduce((before, feed) => withSyncEvent(before, feed, { type: 'Replayed' }, NOW), latches)
}

test('no process is ready before the operator has begun, except one that stands by', () => {
  expect(fleetUnready({ view: undefined }, LEADING)).toBe('the fleet operator has not begun')
  expect(fleetUnready({ view: undefined }, { leading: false })).toBeUndefined()
})

// FLEET-14
test('while the fleet is read, the check names what is missing, and why it does not get on', () => {
  const lost = { type: 'Lost', problem: 'NATS does not answer' } as const
  expect(fleetUnready(viewRefOf(withSyncEvent(initialSyncStates(NOW), 'states', lost, NOW)), LEADING)).toContain(
    'the fleet is being read: deployments, devices, states',
  )
  const rest = withSyncEvent(read(initialSyncStates(NOW)), 'states', { type: 'Wiped' }, NOW)
  expect(fleetUnready(viewRefOf(withSyncEvent(rest, 'states', lost, NOW)), LEADING)).toBe(
    'the fleet is being read: states (NATS does not answer)',
  )
})

// FLEET-14
test('a fleet that was read makes ready, also when a source is lost later', () => {
  const converged = read(initialSyncStates(NOW))
  expect(fleetUnready(viewRefOf(converged), LEADING)).toBeUndefined()
  const lost = withSyncEvent(converged, 'infos', { type: 'Lost', problem: 'gone' }, NOW)
  expect(fleetUnready(viewRefOf(lost), LEADING)).toBeUndefined()
})
