import { expect, test } from 'vitest'
import { type Latches, latchesAt, overall, withEvent } from '#controllers/fleet/state/latch.ts'
import { type FleetView, FleetWindow } from '#controllers/fleet/view.ts'
import { fleetUnready } from './fleet-readiness.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const LEADING = { leading: undefined }

const windowOf = (latches: Latches): FleetWindow => {
  const view: Pick<FleetView, 'recovery'> = {
    recovery: () => ({ ...overall(latches), isLeading: true, brake: undefined }),
  }
  return Object.assign(new FleetWindow(), { view })
}

const read = (latches: Latches): Latches => {
  const feeds = Object.keys(latches) as (keyof Latches)[]
  return feeds.reduce((before, feed) => withEvent(before, feed, { type: 'Replayed' }, NOW), latches)
}

test('nobody is ready before the operator has begun, except who stands by', () => {
  expect(fleetUnready(new FleetWindow(), LEADING)).toBe('the fleet operator has not begun')
  expect(fleetUnready(new FleetWindow(), { leading: false })).toBeUndefined()
})

test('while the fleet is read, the check names what is missing, and why it does not get on', () => {
  const lost = { type: 'Lost', problem: 'NATS does not answer' } as const
  expect(fleetUnready(windowOf(withEvent(latchesAt(NOW), 'states', lost, NOW)), LEADING)).toContain(
    'the fleet is being read: deployments, devices, states',
  )
  const rest = withEvent(read(latchesAt(NOW)), 'states', { type: 'Wiped' }, NOW)
  expect(fleetUnready(windowOf(withEvent(rest, 'states', lost, NOW)), LEADING)).toBe(
    'the fleet is being read: states (NATS does not answer)',
  )
})

test('a fleet that was read makes ready, also when a source is lost later', () => {
  const converged = read(latchesAt(NOW))
  expect(fleetUnready(windowOf(converged), LEADING)).toBeUndefined()
  const lost = withEvent(converged, 'infos', { type: 'Lost', problem: 'gone' }, NOW)
  expect(fleetUnready(windowOf(lost), LEADING)).toBeUndefined()
})
