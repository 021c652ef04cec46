import type pg from 'pg'

/** A value of a row, of its one column, as the server sent it: UTF-8. */
export type RowBytes = Buffer | null

/** A connection whose driver reads rows as texts, and from which they can be had as bytes. */
export interface ByteReader {
  /** Executes a statement of one column. @param execute sends it over this connection, where nothing else is under way */
  read(execute: () => Promise<unknown>): Promise<RowBytes[]>
}

/** A letter, and the length of what follows, which counts itself. */
const HEADER_BYTES = 5
const LETTER_BYTES = 1
const DATA_ROW = 'D'.charCodeAt(0)
/** After the header a row has the number of its columns, and before each value its length. */
const LENGTH_AT = HEADER_BYTES + 2
const VALUE_AT = LENGTH_AT + 4

/**
 * The driver decodes every value, and an answer of 300 KB would be encoded again. So its messages are told apart before it reads
 * them (PostgreSQL's protocol, "Message Formats"), and while rows are read as bytes they are kept from it (API-150).
 * @param client that is not connected yet: from its first byte on it is known where messages end
 */
export const splitRows = (client: pg.Client): ByteReader => {
  const { connection } = client as unknown as { readonly connection: DriverConnection }
  const attach = connection.attachListeners.bind(connection)
  let toFill: RowBytes[] | undefined
  connection.attachListeners = (stream) =>
    attach({
      on: (event, listener) => stream.on(event, event === 'data' ? splitMessages(() => toFill, listener) : listener),
    })
  return {
    read: async (execute) => {
      const rows: RowBytes[] = []
      toFill = rows
      try {
        await execute()
      } finally {
        toFill = undefined
      }
      return rows
    },
  }
}

/** What the driver has and does not declare. */
interface DriverConnection {
  /** Begins to read what the server says; over TLS from the stream within. */
  attachListeners(stream: MessageStream): void
}

interface MessageStream {
  on(event: string, listener: (bytes: Buffer) => void): unknown
}

/** Takes what comes in pieces of any size. @param rowsToFill where rows go at present @param forward takes the rest as it comes */
export const splitMessages = (
  rowsToFill: () => RowBytes[] | undefined,
  forward: (bytes: Buffer) => void,
): ((bytes: Buffer) => void) => {
  /** The beginning of a message, too short to know how long it is. */
  let beginning: Buffer | undefined
  /** Bytes that are to come of the message that has begun. */
  let missing = 0
  /** The row that has begun; undefined within other messages. */
  let row: Buffer[] | undefined
  return (piece) => {
    const bytes = beginning === undefined ? piece : Buffer.concat([beginning, piece])
    beginning = undefined
    let at = 0
    let forwarded = 0
    const forwardRest = () => {
      if (at > forwarded) forward(bytes.subarray(forwarded, at))
      forwarded = at
    }
    while (at < bytes.length) {
      if (missing === 0) {
        if (bytes.length - at < HEADER_BYTES) {
          beginning = bytes.subarray(at)
          break
        }
        missing = LETTER_BYTES + bytes.readUInt32BE(at + LETTER_BYTES)
        if (bytes[at] === DATA_ROW && rowsToFill() !== undefined) {
          forwardRest()
          row = []
        }
      }
      const length = Math.min(missing, bytes.length - at)
      row?.push(bytes.subarray(at, at + length))
      at += length
      missing -= length
      if (row === undefined) continue
      forwarded = at
      if (missing > 0) continue
      rowsToFill()?.push(readValue(row))
      row = undefined
    }
    forwardRest()
  }
}

const readValue = (parts: readonly Buffer[]): RowBytes => {
  const [first = Buffer.alloc(0), ...others] = parts
  const message = others.length === 0 ? first : Buffer.concat(parts)
  const length = message.readInt32BE(LENGTH_AT)
  return length < 0 ? null : message.subarray(VALUE_AT, VALUE_AT + length)
}
