/** Whose account programs can have. Pure. AGENT-42, AGENT-43. */
import { createHash } from 'node:crypto'

/** One for each placement, or the agent's. */
export type ProgramUser = 'placement' | 'self'

/** Numbers of accounts and of their groups, both ends included. */
export interface UidRange {
  readonly first: number
  readonly last: number
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
