import type { ServerResponse } from 'node:http'
import { once } from '#lib/once.ts'
import type { Room } from '../storage/room.ts'
import { heldUntilClosed } from './held-until-closed.ts'
import { cutOffUnless, takeUntilClosed } from './take-until-closed.ts'

/** Shorter answers are bounded by the number of requests under way. */
const COUNTED_BYTES = 16 * 1024
/** What an answer is taken for while it is made, as nothing tells its length before. */
const EXPECTED_BYTES = 128 * 1024
/** How many times the room answers may have that are longer than they were taken for. */
const MOST_TIMES = 3
const never = new AbortController().signal

/** Answers that are made as a whole, and that their readers have not taken yet, of all callers together. */
export interface UnsentAnswers {
  /** Bytes of them, and of those that are made. */
  readonly bytesInUse: number
  /**
   * Waits for room for an answer, before anything of it is read.
   * @param patience milliseconds
   * @returns how to give it back before the answer is sent @throws Problem when there is none for a while
   */
  begin(response: ServerResponse, caller: string, patience: number): Promise<() => void>
  /**
   * Counts an answer that is about to be sent, until it is or its connection is gone.
   * @param hasBegun whether it waited for room: what did not, as the document of this API for strangers, takes none from others, however
   * often it is asked for
   */
  add(response: ServerResponse, bytes: number, caller: string, hasBegun: boolean): void
}

interface OfCaller {
  bytes: number
  /** The oldest first. */
  readonly answers: Map<ServerResponse, number>
}

/**
 * An answer is in memory once its length is known. So many are made at a time as have room if they are of some length; those that are
 * longer have up to three times the room, beyond which the caller that has the most loses its oldest one (API-205).
 */
export const createUnsentAnswers = (room: Room, size: number): UnsentAnswers => {
  const callers = new Map<string, OfCaller>()
  let inUse = 0
  const forget = (name: string, response: ServerResponse) => {
    const own = callers.get(name)
    const bytes = own?.answers.get(response)
    if (own === undefined || bytes === undefined) return
    own.answers.delete(response)
    own.bytes -= bytes
    inUse -= bytes
    if (own.answers.size === 0) callers.delete(name)
  }
  const cutOffOne = (): boolean => {
    const [[name, most] = ['', undefined], ...others] = callers
      .entries()
      .toArray()
      .sort(([, one], [, other]) => other.bytes - one.bytes)
    const [oldest] = most?.answers.keys() ?? []
    if (oldest === undefined || (most?.answers.size === 1 && others.length === 0)) return false
    forget(name, oldest)
    oldest.destroy()
    return true
  }
  return {
    get bytesInUse() {
      return room.bytesInUse
    },
    begin: (response, caller, patience) => {
      const isWorkedOn = () => !response.writableEnded
      const full = 'answers that others do not take have all the room that there is'
      return takeUntilClosed(Math.min(EXPECTED_BYTES, size), response, { room, caller, patience, isWorkedOn, full })
    },
    add: (response, bytes, caller, hasBegun) => {
      if (bytes < COUNTED_BYTES || response.destroyed) return
      const own = callers.get(caller) ?? { bytes: 0, answers: new Map() }
      callers.set(caller, own)
      own.answers.set(response, bytes)
      own.bytes += bytes
      inUse += bytes
      const isWorkedOn = () => !response.writableEnded
      const cutOff = () => cutOffUnless(isWorkedOn, response)
      const giveBack = hasBegun ? once(room.takeNow(bytes, { caller, signal: never, cutOff })) : () => {}
      heldUntilClosed(response, () => {
        forget(caller, response)
        giveBack()
      })
      while (inUse > MOST_TIMES * size && cutOffOne());
    },
  }
}
