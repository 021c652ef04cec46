import { randomBytes } from 'node:crypto'

const SEQUENCE_LIMIT = 0x1000
/** Where the counter of a millisecond begins, and by how much it goes on: at most so much, by chance. */
const MAX_STEP = 0x40

/**
 * Makes UUIDs of version 7 (RFC 9562): milliseconds, then a counter within the millisecond, then randomness.
 * Ids of one process therefore sort in the order they were made, which keyset paging and B-trees like. The counter begins and goes on by
 * chance: counted by ones it would tell a tenant how many others made something in the same millisecond (API-182).
 */
export const createIdGenerator = (now: () => Date): (() => string) => {
  let last = 0
  let sequence = 0
  return () => {
    const time = now().getTime()
    const random = randomBytes(10)
    const step = 1 + (random.readUInt8(8) % MAX_STEP)
    if (time > last) {
      last = time
      sequence = random.readUInt16BE(8) % (SEQUENCE_LIMIT / 2)
    } else {
      sequence += step
      if (sequence >= SEQUENCE_LIMIT) {
        // The millisecond's counter is used up (or the clock stands still): borrow the next one, as the RFC allows.
        last += 1
        sequence = step - 1
      }
    }
    const hex = last.toString(16).padStart(12, '0')
    random[0] = ((random[0] ?? 0) & 0x3f) | 0x80
    const tail = random.toString('hex', 0, 8)
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7${sequence.toString(16).padStart(3, '0')}-${tail.slice(0, 4)}-${tail.slice(4)}`
  }
}
