/** Whose account programs can have. Pure. AGENT-42, AGENT-43. */
import { createHash } from 'node:crypto'

/** One for each placement, or the agent's. */
export const PROGRAM_USERS = ['placement', 'self'] as const

/** Numbers of accounts and of their groups, both ends included. */
export interface UidRange {
  readonly first: number
  readonly last: number
}

/** What uid_t holds, but for the last one, which means none. */
const MAX_UID = 2 ** 32 - 2
/** Below are the accounts of the system and its people. */
const MIN_UID = 1_000

/** `FIRST-LAST`. @throws Error */
export const parseUidRange = (text: string): UidRange => {
  const [, first, last] = /^(\d{1,10})-(\d{1,10})$/.exec(text) ?? []
  const range = { first: Number(first), last: Number(last) }
  if (range.first >= MIN_UID && range.last > range.first && range.last <= MAX_UID) return range
  throw new Error(`${JSON.stringify(text)} is no range of accounts: write FIRST-LAST, from ${MIN_UID} to ${MAX_UID}`)
}

/**
 * The first free number after one that follows from the name: two agents of a machine, which know nothing of each other, hardly
 * ever meet. The last of the range is given to none. Undefined when none is free.
 */
export const chooseUid = ({ first, last }: UidRange, name: string, used: ReadonlySet<number>): number | undefined => {
  const size = last - first
  const start = Number(createHash('sha256').update(name).digest().readBigUInt64BE() % BigInt(size))
  for (let step = 0; step < size; step += 1) {
    const uid = first + ((start + step) % size)
    if (!used.has(uid)) return uid
  }
  return undefined
}
