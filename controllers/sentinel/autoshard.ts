/**
 * `autoShard: {replicas: N}`: every replica claims one of N slots by a Lease, and the claimed slots divide the resources
 * (shard.ts). A slot that comes or goes moves its own share and nothing else.
 */
import type { Api } from '#operator/client/api.ts'
import { hold } from '#operator/client/lease.ts'
import { isFree, LEASES, type Observation, observe } from '#operator/client/lease-record.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Part } from './config.ts'
import { slotsOf } from './shard.ts'

export interface SlotOptions {
  readonly api: Api
  readonly namespace: string
  /** Of the SentinelConfig; its slots are the Leases `<name>-slot-<n>`. */
  readonly name: string
  readonly slots: number
  /** Of this process. */
  readonly identity: string
  readonly clock: Clock
  readonly log: Logger
  /** Told whenever the part of this replica changes; undefined while it has none. */
  onPart(part: Part | undefined): void
}

/** How often a holder looks who else holds a slot, in milliseconds. */
const LOOK_EVERY = 5_000

/** Claims one slot and follows who else has one, until the signal aborts. After losing a slot it claims the next free one. */
export const claimSlot = async (options: SlotOptions, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const candidacy = new AbortController()
    const trying = AbortSignal.any([signal, candidacy.signal])
    let won = false
    const claims = slotsOf(options.slots).map(async (slot) => {
      const own = new AbortController()
      trying.addEventListener('abort', () => won || own.abort(), { once: true })
      await hold(
        { ...options, name: slotLease(options.name, slot), signal: AbortSignal.any([own.signal, signal]) },
        async (held) => {
          // Two slots may fall to us at the same moment: the second is given back.
          if (won) return
          won = true
          candidacy.abort()
          await follow(options, slot, held)
          own.abort()
        },
      )
    })
    await Promise.all(claims)
  }
}

const slotLease = (name: string, slot: number): string => `${name}-slot-${slot}`

/** Tells the part of the slot and every change of it, for as long as the slot is held. */
const follow = async (options: SlotOptions, slot: number, held: AbortSignal): Promise<void> => {
  const { clock, onPart } = options
  const seen = new Map<number, Observation>()
  let told = ''
  // The others must see this slot before it takes their share, or both would pulse it.
  for (let look = 0; !held.aborted; look++) {
    const members = await claimedSlots(options, seen, held)
    const part = { slot, members: [...new Set([...members, slot])].toSorted((a, b) => a - b) }
    if (look >= 2 && String(part.members) !== told) {
      told = String(part.members)
      onPart(part)
    }
    await clock.sleep(LOOK_EVERY, held)
  }
  onPart(undefined)
}

/** The slots that somebody holds. A lease that can't be read now counts as it did before. */
const claimedSlots = async (
  { api, name, namespace, slots, clock, log }: SlotOptions,
  seen: Map<number, Observation>,
  signal: AbortSignal,
): Promise<number[]> => {
  const bounded = api.bound({ signal, timeout: LOOK_EVERY })
  for (const slot of slotsOf(slots)) {
    try {
      const lease = await bounded.get(LEASES, slotLease(name, slot), namespace)
      if (lease !== undefined) seen.set(slot, observe(seen.get(slot), lease, monotonic(clock)))
    } catch (error) {
      if (!signal.aborted) log.warn('a slot could not be read', { slot, problem: String(error) })
    }
  }
  return [...seen].filter(([, observation]) => !isFree(observation, monotonic(clock))).map(([slot]) => slot)
}
