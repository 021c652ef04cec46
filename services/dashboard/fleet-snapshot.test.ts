import { expect, test } from 'vitest'
import type { FleetView } from '#apis/fleet.nationtech.io/fleet-view.ts'
import type { Clock } from '#operator/model/clock.ts'
import { withFleetSnapshots } from './fleet-snapshot.ts'

/** A fleet that is counted in so many milliseconds. */
const fleet = (takes: number) => {
  let now = 0
  let counts = 0
  const listeners: (() => void)[] = []
  const clock: Clock = { now: () => new Date(now), sleep: () => Promise.resolve() }
  const view = {
    deployments: () => [],
    devices: () => {
      now += takes
      counts += 1
      return []
    },
    onChange: (listener: () => void) => {
      listeners.push(listener)
      return () => {}
    },
  } as Partial<FleetView> as FleetView
  const sources = withFleetSnapshots({ objects: () => undefined, fleet: () => view, runs: () => undefined }, clock)
  return {
    look: () => sources.fleet()?.devices(),
    change: () => {
      for (const listener of listeners) listener()
    },
    pass: (milliseconds: number) => {
      now += milliseconds
    },
    counts: () => counts,
  }
}

test('all who look between two changes see one count', () => {
  const { look, change, counts } = fleet(1)
  for (let viewer = 0; viewer < 5; viewer++) look()
  expect(counts()).toBe(1)
  change()
  for (let viewer = 0; viewer < 5; viewer++) look()
  expect(counts()).toBe(2)
})

test('a fleet that takes long to count is not counted again at once, however much changes', () => {
  const { look, change, pass, counts } = fleet(500)
  look()
  change()
  pass(9_000)
  look()
  expect(counts()).toBe(1)
  pass(501)
  look()
  expect(counts()).toBe(2)
})

test('nothing is older than ten seconds, though no change was told', () => {
  const { look, pass, counts } = fleet(1)
  look()
  pass(9_000)
  look()
  expect(counts()).toBe(1)
  pass(1_000)
  look()
  expect(counts()).toBe(2)
})
