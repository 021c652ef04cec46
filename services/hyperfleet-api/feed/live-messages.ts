import { SHARE_OF_CALLER } from '../storage/room.ts'
import type { Change } from './changes.ts'
import type { Sink } from './sink.ts'
import { formatChange, type MessageType, type Subscription } from './watch-message.ts'

/** What a message costs while it waits for a reader, beside its bytes, which all readers share. */
const COST_OF_WAITING = 256

/** Messages of streams that follow changes as they come, which their readers have not taken yet, of all streams together (API-162). */
export interface LiveMessages {
  /** Bytes that they take. */
  readonly bytesInUse: number
  /** @returns how one stream writes */
  writer(sink: Sink): LiveWriter
}

export interface LiveWriter {
  /**
   * @returns how many bytes wait for the reader; undefined, and nothing is written, when there is no room for it: the change is to be
   * read again when there is
   */
  write(change: Change, type: MessageType, subscription: Subscription): number | undefined
}

/** One for all streams that look alike. */
interface Message {
  readonly bytes: Buffer
  /** The caller whose share it is of. */
  readonly maker: string
  readers: number
}

/** @param size bytes; a message that is larger than all of it gets all of it */
export const createLiveMessages = (size: number): LiveMessages => {
  let bytesInUse = 0
  const messages = new WeakMap<Change, Map<string, Message>>()
  const inUseBy = new Map<string, number>()
  const add = (caller: string, bytes: number) => {
    bytesInUse += bytes
    const own = (inUseBy.get(caller) ?? 0) + bytes
    if (own > 0) inUseBy.set(caller, own)
    else inUseBy.delete(caller)
  }
  const fits = (caller: string, bytes: number): boolean => {
    const own = inUseBy.get(caller) ?? 0
    return (bytesInUse === 0 || bytesInUse + bytes <= size) && (own === 0 || own + bytes <= size * SHARE_OF_CALLER)
  }

  return {
    get bytesInUse() {
      return bytesInUse
    },
    writer: (sink) => {
      /** How to give back what the reader has not taken. */
      const held = new Set<() => void>()
      const giveAllBack = () => {
        for (const giveBack of held) giveBack()
      }
      sink.signal.addEventListener('abort', giveAllBack, { once: true })
      return {
        write: (change, type, subscription) => {
          const byShape = messages.get(change) ?? new Map<string, Message>()
          messages.set(change, byShape)
          const shape = `${type} ${subscription.fields ?? ''}`
          let message = byShape.get(shape)
          // A part of a document is no longer than the document.
          const bytesMore = message === undefined ? Buffer.byteLength(change.document) : 0
          if (!fits(sink.caller, COST_OF_WAITING + bytesMore)) return undefined
          if (message === undefined) {
            message = { bytes: formatChange(change, type, subscription), maker: sink.caller, readers: 0 }
            byShape.set(shape, message)
            add(message.maker, message.bytes.length)
          }
          const { bytes } = message
          const shared = message
          shared.readers += 1
          add(sink.caller, COST_OF_WAITING)
          const giveBack = () => {
            if (!held.delete(giveBack)) return
            add(sink.caller, -COST_OF_WAITING)
            shared.readers -= 1
            if (shared.readers > 0) return
            add(shared.maker, -bytes.length)
            byShape.delete(shape)
          }
          held.add(giveBack)
          return sink.write(bytes, giveBack)
        },
      }
    },
  }
}
