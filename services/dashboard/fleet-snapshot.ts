/**
 * One count of the fleet for all viewers. A hundred Deployments on ten thousand devices are a million places to count: that is done
 * once after a change and not for every page, and takes a small share of the time however many changes there are.
 */
import type { FleetView } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Sources } from './sources.ts'

/** Counting that takes longer than this, in milliseconds, … */
const QUICK_COUNT_MS = 50
/** … is done again only after so many times as long. */
const PAUSE_FACTOR = 20
/** Nothing is shown for longer, in milliseconds, though no change was told: heartbeats come and change nothing but their time. */
const MAX_AGE_MS = 10_000

/** The same sources, whose fleet is counted once after each change. */
export const withFleetSnapshots = (sources: Sources, clock: Clock): Sources => {
  const snapshots = new WeakMap<FleetView, FleetView>()
  return {
    ...sources,
    fleet() {
      const view = sources.fleet()
      if (view === undefined) return undefined
      const snapshot = snapshots.get(view) ?? createSnapshot(view, clock)
      snapshots.set(view, snapshot)
      return snapshot
    },
  }
}

const createSnapshot = (view: FleetView, clock: Clock): FleetView => {
  let changes = 0
  view.onChange(() => {
    changes += 1
  })
  const cached = <T>(count: () => T): (() => T) => {
    let last: { readonly value: T; readonly changes: number; readonly at: number; readonly took: number } | undefined
    return () => {
      const began = monotonic(clock)
      if (last !== undefined) {
        const pause = last.took < QUICK_COUNT_MS ? 0 : last.took * PAUSE_FACTOR
        const isCurrent = last.changes === changes && began - last.at < MAX_AGE_MS
        if (isCurrent || began - last.at < pause) return last.value
      }
      const seen = changes
      const value = count()
      last = { value, changes: seen, at: began, took: monotonic(clock) - began }
      return value
    }
  }
  return {
    recovery: () => view.recovery(),
    deployments: cached(() => view.deployments()),
    devices: cached(() => view.devices()),
    ofDeployment: (key) => view.ofDeployment(key),
    ofDevice: (name) => view.ofDevice(name),
    onChange: (listener) => view.onChange(listener),
  }
}
