import { Socket } from 'node:net'
import type pg from 'pg'
import type { ValueSink } from './page-buffer.ts'

/** A connection whose driver reads rows as texts, and from which they can be had as bytes. */
export interface ByteReader {
  /** Executes a statement of one column. @param execute sends it over this connection, where nothing else is under way */
  read<T>(sink: ValueSink, execute: () => Promise<T>): Promise<T>
}

/** A letter, and the length of what follows, which counts itself. */
const HEADER_BYTES = 5
const LETTER_BYTES = 1
const DATA_ROW = 'D'.charCodeAt(0)
/** After the header a row has the number of its columns, and before each value its length. */
const LENGTH_AT = HEADER_BYTES + 2
const VALUE_AT = LENGTH_AT + 4

/** Bytes that are read at a time. */
const READ_BYTES = 64 * 1024

/** Made with the first connection: what never connects has none. */
let readBuffer: Buffer | undefined

/**
 * A socket that reads to one same place, which it shares with all others: what came is told and done with before anything else is
 * read (API-176). Node.js makes a buffer for each read otherwise, which are garbage at once and take tens of megabytes until
 * they are collected. Over TLS the stream within makes them.
 */
export const createSharingSocket = (): Socket => {
  readBuffer ??= Buffer.allocUnsafeSlow(READ_BYTES)
  const socket: Socket = new Socket({
    onread: {
      buffer: readBuffer,
      callback: (length, bytes) => socket.emit('data', (bytes as Buffer).subarray(0, length)),
    },
  } as ConstructorParameters<typeof Socket>[0])
  return socket
}

/**
 * The driver decodes every value, and an answer of 300 KB would be encoded again. So its messages are told apart before it reads
 * them (PostgreSQL's protocol, "Message Formats"), and while rows are read as bytes they are kept from it (API-150).
 * @param client that is not connected yet: from its first byte on it is known where messages end
 */
export const splitRows = (client: pg.Client): ByteReader => {
  const { connection } = client as unknown as { readonly connection: DriverConnection }
  const attach = connection.attachListeners.bind(connection)
  let sink: ValueSink | undefined
  connection.attachListeners = (stream) =>
    attach({
      on: (event, listener) => stream.on(event, event === 'data' ? splitMessages(() => sink, listener) : listener),
    })
  return {
    read: async (into, execute) => {
      sink = into
      try {
        return await execute()
      } finally {
        sink = undefined
      }
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

/**
 * Takes what comes in pieces of any size, and keeps nothing of them.
 * @param currentSink where values go at present @param forward takes the rest as it comes, as bytes of its own
 */
export const splitMessages = (
  currentSink: () => ValueSink | undefined,
  forward: (bytes: Buffer) => void,
): ((piece: Buffer) => void) => {
  /** The beginning of a message, too short to know how long it is, or its value. */
  let beginning: Buffer | undefined
  /** Bytes that are to come of the message that has begun. */
  let missing = 0
  /** What takes the row that has begun; undefined within other messages. */
  let taker: ValueSink | undefined
  return (piece) => {
    const bytes = beginning === undefined ? piece : Buffer.concat([beginning, piece])
    beginning = undefined
    let at = 0
    let forwarded = 0
    const forwardRest = () => {
      if (at > forwarded) forward(Buffer.from(bytes.subarray(forwarded, at)))
      forwarded = at
    }
    while (at < bytes.length) {
      if (missing === 0) {
        const left = bytes.length - at
        const isRow = bytes[at] === DATA_ROW && currentSink() !== undefined
        if (left < (isRow ? VALUE_AT : HEADER_BYTES)) {
          forwardRest()
          beginning = Buffer.from(bytes.subarray(at))
          return
        }
        missing = LETTER_BYTES + bytes.readUInt32BE(at + LETTER_BYTES)
        if (isRow) {
          forwardRest()
          taker = currentSink()
          const length = bytes.readInt32BE(at + LENGTH_AT)
          taker?.begin(length < 0 ? undefined : length)
          at += VALUE_AT
          missing -= VALUE_AT
        }
      }
      const length = Math.min(missing, bytes.length - at)
      // A statement that failed in the middle of a row has no use for the rest of it.
      if (length > 0 && taker === currentSink()) taker?.take(bytes, at, at + length)
      at += length
      missing -= length
      if (taker === undefined) continue
      forwarded = at
      if (missing === 0) taker = undefined
    }
    forwardRest()
  }
}
