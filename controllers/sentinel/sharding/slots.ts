/**
 * `autoShard: {replicas: N}`: every replica claims one of N slots by a Lease, and the claimed slots divide the resources
 * (rendezvous.ts). A slot that comes or goes moves its own share and nothing else (SENTINEL-34).
 */

import { AbortScope } from '#lib/abort/abort-scope.ts'
import { detach } from '#lib/process/detach.ts'
import type { Api } from '#operator/client/api.ts'
import { runWithLease } from '#operator/client/lease.ts'
import { isFree, LEASES, type Observation, observe } from '#operator/client/lease-record.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Partition } from '../settings.ts'
import { slotNumbers } from './rendezvous.ts'

export interface SlotOptions {
  readonly api: Api
  readonly namespace: string
  /** Of the SentinelConfig; its slots are the Leases `<name>-slot-<n>`. */
  readonly name: string
  slots(): number
  /** Of this process. */
  readonly identity: string
  readonly clock: Clock
  readonly log: Logger
  /** Told whenever the part of this replica changes; undefined while it has none. */
  onPartition(part: Partition | undefined): void
}

/** How often a holder looks which slots others hold, in milliseconds. */
const READ_LEASES_INTERVAL_MS = 5_000

/** Takes one slot and follows which slots others have, until the signal aborts. After losing a slot it takes the next free one. */
export const acquireSlot = async (options: SlotOptions, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const slots = slotNumbers(options.slots())
    using round = new AbortScope(signal)
    detach('looking for another number of slots', abortWhenResized(options, slots.length, round))
    await holdFirstFree(slots, round.signal, (slot, until, work) =>
      runWithLease({ ...options, name: slotLeaseName(options.name, slot), signal: until }, work),
    )((slot, held) => followMembers(options, slots, slot, held))
  }
}

const slotLeaseName = (name: string, slot: number): string => `${name}-slot-${slot}`

/** A round ends when the spec asks for another number of slots: then everyone claims anew. */
const abortWhenResized = async ({ slots, clock }: SlotOptions, size: number, round: AbortScope): Promise<void> => {
  while (!round.signal.aborted && slots() === size) await clock.sleep(READ_LEASES_INTERVAL_MS, round.signal)
  round.abort()
}

type HoldSlot = (slot: number, until: AbortSignal, work: (held: AbortSignal) => Promise<void>) => Promise<void>

/** Competes for all slots, works on the first that is won, and gives up the others. */
const holdFirstFree =
  (slots: readonly number[], signal: AbortSignal, holdSlot: HoldSlot) =>
  async (work: (slot: number, held: AbortSignal) => Promise<void>): Promise<void> => {
    const others = new AbortController()
    let won: number | undefined
    await Promise.all(
      slots.map(async (slot) => {
        using own = new AbortScope(signal)
        others.signal.addEventListener('abort', () => slot !== won && own.abort())
        await holdSlot(slot, own.signal, async (held) => {
          // Two slots may fall to us at the same moment: the second is given back.
          if (won !== undefined) return
          won = slot
          others.abort()
          await work(slot, held)
          own.abort()
        })
      }),
    )
  }

/** Tells the part of the slot and every change of it, for as long as the slot is held. */
const followMembers = async (
  options: SlotOptions,
  slots: readonly number[],
  slot: number,
  held: AbortSignal,
): Promise<void> => {
  const seen = new Map<number, Observation>()
  let announced = ''
  for (let reads = 0; !held.aborted; reads++) {
    const members = await readHeldSlots(options, slots, seen, held)
    const part = { slot, members: [...new Set([...members, slot])].toSorted((a, b) => a - b) }
    // The others must have seen this slot before it takes its share from them, or both would pulse it.
    if (reads >= 2 && !held.aborted && String(part.members) !== announced) {
      announced = String(part.members)
      options.onPartition(part)
    }
    await options.clock.sleep(READ_LEASES_INTERVAL_MS, held)
  }
  options.onPartition(undefined)
}

/** The slots that are held. A lease that can't be read now counts as it did before. */
const readHeldSlots = async (
  { api, name, namespace, clock, log }: SlotOptions,
  slots: readonly number[],
  seen: Map<number, Observation>,
  signal: AbortSignal,
): Promise<number[]> => {
  const bounded = api.withLimits({ signal, timeout: READ_LEASES_INTERVAL_MS })
  for (const slot of slots) {
    try {
      const lease = await bounded.get(LEASES, slotLeaseName(name, slot), namespace)
      if (lease !== undefined) seen.set(slot, observe(seen.get(slot), lease, monotonic(clock)))
    } catch (error) {
      if (!signal.aborted)
        log.warn('a slot could not be read, its last holder counts until the next look', {
          slot,
          problem: String(error),
        })
    }
  }
  return [...seen].filter(([, observation]) => !isFree(observation, monotonic(clock))).map(([slot]) => slot)
}
