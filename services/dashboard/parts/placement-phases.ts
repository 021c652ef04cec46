/** What devices count as, in words and tones. Pure. */

import type { DeviceRow, PlacementPhase } from '#apis/fleet.nationtech.io/fleet-view.ts'
import type { Part } from './chart.ts'
import type { Tone } from './tone.ts'

/** In the order in which a bar shows them. */
export const PLACEMENT_TONES: Readonly<Record<PlacementPhase, Tone>> = {
  succeeded: 'good',
  pending: 'busy',
  unreported: 'warn',
  failed: 'bad',
  offline: 'dim',
  held: 'held',
}

export const placementParts = (counts: Readonly<Record<PlacementPhase, number>>): readonly Part[] =>
  (Object.entries(PLACEMENT_TONES) as [PlacementPhase, Tone][]).map(([phase, tone]) => ({
    tone,
    word: phase,
    count: counts[phase],
  }))

/** How a device does: as the worst of its Deployments, once it is there at all. In this order they are listed. */
export const DEVICE_STATES = ['failed', 'offline', 'unreported', 'pending', 'held', 'good'] as const
export type DeviceState = (typeof DEVICE_STATES)[number]

export const DEVICE_TONES: Readonly<Record<DeviceState, Tone>> = {
  failed: 'bad',
  offline: 'dim',
  unreported: 'warn',
  pending: 'busy',
  held: 'held',
  good: 'good',
}

export const deviceStateOf = ({ isAlive, isPinned, deployments }: DeviceRow): DeviceState => {
  if (deployments.failed > 0) return 'failed'
  if (!isAlive) return 'offline'
  if (deployments.unreported > 0) return 'unreported'
  if (deployments.pending > 0) return 'pending'
  return isPinned || deployments.held > 0 ? 'held' : 'good'
}
