/**
 * Reports of Deployments that do not exist, by the device that wrote them: one whose key was stolen may write any number. They are only
 * counted here, so that they take no memory; what is in the store is looked at before anything is removed. FLEET-92. Pure.
 */

import { isDeviceName } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { bytesOf, type KeyUpdate } from './key-update.ts'
import type { PlacementState } from './placement-state.ts'

/** So many reports of Deployments that do not exist a device may have; the markers of those that it took back count as well. */
export const MAX_STRAY_REPORTS = 100

/** A device that may have too many. */
export interface StraySuspicion {
  readonly device: string
  /** Whether it wrote more than markers, which every device leaves behind. */
  readonly isFlood: boolean
  /** Whether these were states. What is none may come from another device, which can have the server deliver what it reads under any key. */
  readonly isOwn: boolean
}

/** What stands in a key of fleet-state. */
export type ReportContent = 'State' | 'Other' | 'Marker'

/** @param bytes of a key; undefined for its marker */
export const contentOf = (bytes: Uint8Array | undefined): ReportContent => {
  if (bytes === undefined) return 'Marker'
  try {
    stateCodec.decode(bytes)
    return 'State'
  } catch (error) {
    if (error instanceof MalformedEntry) return 'Other'
    throw error
  }
}

/** What a device said under a key of fleet-state; undefined when it took it back. @throws MalformedEntry */
export const reportIn = (update: KeyUpdate): PlacementState['reported'] => {
  const bytes = bytesOf(update)
  return bytes && { state: stateCodec.decode(bytes).payload, revision: update.revision }
}

export class StrayReports {
  readonly #written = new Map<string, { states: number; values: number; all: number }>()
  readonly #suspicious = new Set<string>()

  /** A device wrote a report, or its marker, of a Deployment that nothing is known of. @param key Of fleet-state, be it malformed. */
  count(key: string, content: ReportContent): void {
    const [device = ''] = key.split('.', 1)
    if (!isDeviceName(device)) return
    const written = this.#written.get(device) ?? { states: 0, values: 0, all: 0 }
    written.all += 1
    if (content !== 'Marker') written.values += 1
    if (content === 'State') written.states += 1
    this.#written.set(device, written)
    if (written.all > MAX_STRAY_REPORTS) this.#suspicious.add(device)
  }

  /** Those that have written too many since they were taken the last time. */
  take(): readonly StraySuspicion[] {
    const suspicions = [...this.#suspicious].map((device) => ({
      device,
      isFlood: (this.#written.get(device)?.values ?? 0) > MAX_STRAY_REPORTS,
      isOwn: (this.#written.get(device)?.states ?? 0) > MAX_STRAY_REPORTS,
    }))
    for (const { device } of suspicions) this.#written.delete(device)
    this.#suspicious.clear()
    return suspicions
  }

  /** They could not be looked at: they are suspicious still. */
  putBack({ device, isFlood, isOwn }: StraySuspicion): void {
    const tooMany = MAX_STRAY_REPORTS + 1
    this.#written.set(device, { states: isOwn ? tooMany : 0, values: isFlood ? tooMany : 0, all: tooMany })
    this.#suspicious.add(device)
  }

  clear(): void {
    this.#written.clear()
    this.#suspicious.clear()
  }
}
