/** What an operator of the fleet knows by NATS alone, without an API server: the part that reads what devices wrote. */
import { Registry } from 'prom-client'
import { DeviceCache } from '#controllers/fleet/cache/devices.ts'
import { createFleetMetrics } from '#controllers/fleet/metrics.ts'
import { followNats } from '#controllers/fleet/sources/nats.ts'
import { FleetState } from '#controllers/fleet/state/fleet-state.ts'
import type { NatsAccess } from '#lib/nats/connection.ts'
import { systemClock } from '#operator/model/clock.ts'
import { recorder } from '#test/harness/index.ts'

export interface FleetReader {
  readonly state: FleetState
  readonly devices: DeviceCache
  readonly lines: readonly string[]
  /** How many connections it has opened. */
  sessions(): number
  /** Whether it has read all buckets. */
  isRead(): boolean
  metric(name: string): Promise<string>
  stop(): Promise<void>
}

export const startFleetReader = (access: Omit<NatsAccess, 'name'>): FleetReader => {
  const state = new FleetState()
  const devices = new DeviceCache(state, systemClock, 'test/reader', ['*'])
  const registry = new Registry()
  const lines: string[] = []
  const read = new Set<string>()
  const ending = new AbortController()
  const ended = followNats(
    {
      access: { ...access, name: 'reader of a test' },
      namespace: undefined,
      state,
      devices,
      listener: {
        syncChanged: (feed, { type }) => void (type === 'Replayed' ? read.add(feed) : read.delete(feed)),
        changed: () => undefined,
      },
      stores: () => undefined,
      metrics: createFleetMetrics(registry),
      clock: systemClock,
      log: recorder(lines),
    },
    ending.signal,
  )
  return {
    state,
    devices,
    lines,
    sessions: () => lines.filter((line) => line.includes('connected to NATS')).length,
    isRead: () => read.size === 4,
    metric: (name) => registry.getSingleMetricAsString(name),
    stop: async () => {
      ending.abort()
      await ended
    },
  }
}
