import { randomBytes } from 'node:crypto'

const SEQUENCE_LIMIT = 0x1000

/**
 * Makes UUIDs of version 7 (RFC 9562): milliseconds, then a counter within the millisecond, then randomness.
 * Ids of one process therefore sort in the order they were made, which keyset paging and B-trees like.
 */
export const createIdGenerator = (now: () => Date): (() => string) => {
  let last = 0
  let sequence = 0
  return () => {
    const time = now().getTime()
    if (time > last) {
      last = time
      sequence = 0
    } else {
      sequence += 1
      if (sequence === SEQUENCE_LIMIT) {
        // The millisecond's counter is used up (or the clock stands still): borrow the next one, as the RFC allows.
        last += 1
        sequence = 0
      }
    }
    const hex = last.toString(16).padStart(12, '0')
    const random = randomBytes(8)
    random[0] = ((random[0] ?? 0) & 0x3f) | 0x80
    const tail = random.toString('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7${sequence.toString(16).padStart(3, '0')}-${tail.slice(0, 4)}-${tail.slice(4)}`
  }
}
