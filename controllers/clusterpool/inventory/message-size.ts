/**
 * How much the entries of `status.inventory` may say. etcd takes no object over 1.5 MiB: a pool whose entries say more could never write
 * its status again (POOL-18). The names, and what else an entry has, take up to 0.8 KiB of each with the API server's `managedFields`.
 */

/** Of one entry, in bytes as JSON is stored. */
export interface MessageLimits {
  readonly message: number
  /** Of `failure.message`, which the message may repeat. */
  readonly failure: number
}

/** As the CRD has it, where characters are counted, which are never more than bytes. */
const MAX_BYTES: MessageLimits = { message: 4_096, failure: 1_024 }
/** Of the messages of all entries. */
const MAX_BYTES_OF_ALL = 256 * 1_024

/**
 * The more entries, the less each may say. It depends on nothing but their number, and goes in steps of one half: otherwise every
 * message would change with every failure.
 */
export const messageLimits = (entries: number): MessageLimits => {
  const message = Math.min(MAX_BYTES.message, MAX_BYTES_OF_ALL / 2 ** Math.ceil(Math.log2(Math.max(1, entries))))
  return { message, failure: Math.min(MAX_BYTES.failure, message / 2) }
}

const ELLIPSIS_TEXT = '…'
const ELLIPSIS_BYTES = Buffer.byteLength(ELLIPSIS_TEXT)
/** Of one character: an escape like \u003c. */
const MAX_CHARACTER_BYTES = 6

/** The beginning of a text that has room in so many bytes as JSON is stored; what is cut off is told by an ellipsis. */
export const truncate = (text: string, room: number): string => {
  if (text.length * MAX_CHARACTER_BYTES <= room) return text
  let kept = 0
  let at = 0
  let size = 0
  for (const character of text) {
    size += sizeOf(character)
    if (size > room) return text.slice(0, kept) + ELLIPSIS_TEXT
    at += character.length
    if (size + ELLIPSIS_BYTES <= room) kept = at
  }
  return text
}

/** Bytes of one character as Go writes it in JSON: what HTML knows is escaped too. */
const sizeOf = (character: string): number => {
  if ('"\\\n\r\t'.includes(character)) return 2
  if (character < ' ' || '<>&\u2028\u2029'.includes(character)) return MAX_CHARACTER_BYTES
  return Buffer.byteLength(character)
}
