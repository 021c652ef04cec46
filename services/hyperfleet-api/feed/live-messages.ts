import { SharedBytes } from '../storage/shared-bytes.ts'
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
  readers: number
  /** Its last reader has it: its room is given back, which is of the share of the caller that it was made for. */
  drop(): void
}

/** @param size bytes; a message that is larger than all of it gets all of it */
export const createLiveMessages = (size: number): LiveMessages => {
  const held = new SharedBytes(size)
  const messages = new WeakMap<Change, Map<string, Message>>()

  /** @returns undefined when there is no room for it */
  const messageFor = (caller: string, change: Change, type: MessageType, subscription: Subscription) => {
    const byShape = messages.get(change) ?? new Map<string, Message>()
    messages.set(change, byShape)
    // A change is told to one tenant alone, and to callers of the system, which are shown another version.
    const shape = `${type} ${subscription.tenancy === undefined ? 'system' : 'tenant'} ${subscription.fields ?? ''}`
    const known = byShape.get(shape)
    // A part of a document is no longer than the document.
    const bytes = COST_OF_WAITING + (known === undefined ? Buffer.byteLength(change.document) : 0)
    if (!held.hasRoom(bytes) || !held.hasShare(caller, bytes)) return undefined
    if (known !== undefined) return known
    const made = formatChange(change, type, subscription)
    const drop = () => {
      held.add(caller, -made.length)
      byShape.delete(shape)
    }
    const message: Message = { bytes: made, readers: 0, drop }
    byShape.set(shape, message)
    held.add(caller, made.length)
    return message
  }

  return {
    get bytesInUse() {
      return held.inUse
    },
    writer: (sink) => {
      /** How to give back what the reader has not taken. */
      const waiting = new Set<() => void>()
      const giveAllBack = () => {
        for (const giveBack of waiting) giveBack()
      }
      sink.signal.addEventListener('abort', giveAllBack, { once: true })
      return {
        write: (change, type, subscription) => {
          const message = messageFor(sink.caller, change, type, subscription)
          if (message === undefined) return undefined
          message.readers += 1
          held.add(sink.caller, COST_OF_WAITING)
          const giveBack = () => {
            if (!waiting.delete(giveBack)) return
            held.add(sink.caller, -COST_OF_WAITING)
            message.readers -= 1
            if (message.readers === 0) message.drop()
          }
          waiting.add(giveBack)
          return sink.write(message.bytes, giveBack)
        },
      }
    },
  }
}
