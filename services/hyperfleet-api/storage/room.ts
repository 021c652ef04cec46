import { detach } from '#lib/process/detach.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { SharedBytes } from './shared-bytes.ts'
import { type Turn, Turns } from './turns.ts'

/**
 * Milliseconds that room is kept while others wait for it: a portion has been taken by then, and a body has come. Below the time for
 * which bodies wait.
 */
export const KEPT_MS = 5_000
/** Milliseconds for which callers that were cut off have one share together. */
const BLAMED_MS = 60_000
/** The account of these: no caller is named so. */
const BLAMED = ''

/** For whom room is taken. */
export interface RoomHolder {
  /** Ends the waiting. */
  readonly signal: AbortSignal
  /** Tells callers apart. */
  readonly caller: string
  /**
   * Called each `KEPT_MS` for which the room is kept, while others wait for room.
   * @returns whether the caller was what it depended on, and was cut off: then the room is given back soon
   */
  cutOff(): boolean
}

/** Bytes that may be in memory at a time, shared by all callers (API-91, API-161). */
export interface Room {
  /** Bytes that are in use. */
  readonly bytesInUse: number
  /**
   * Waits for its turn and for room; what is larger than all of it gets all of it.
   * @returns how to give it back
   */
  take(bytes: number, holder: RoomHolder): Promise<() => void>
  /** Takes room that is there while none waits for any; else undefined. @returns how to give it back */
  takeIfFree(bytes: number, holder: RoomHolder): (() => void) | undefined
  /** Counts what is there already, also beyond the bound. @returns how to give it back */
  takeNow(bytes: number, holder: RoomHolder): () => void
}

/** Room that was taken. */
interface Kept {
  readonly turn: Turn
  readonly holder: RoomHolder
  /** Since it was taken or last looked at, by a monotonic clock. */
  since: number
}

/**
 * Callers take turns, and each is served in its own order: a large portion is not passed by small ones for ever, and a caller with many
 * keeps no other one waiting for all of them. One that has its share lets others pass. While the next turn finds no room, those are cut off
 * that have kept theirs for long, the oldest first, and have one share together for a while (API-204): a few callers that take nothing, and
 * come again, would stop all others.
 */
export const createRoom = (size: number, clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>): Room => {
  const shared = new SharedBytes(size)
  const turns = new Turns()
  /** The oldest first, without those that were cut off. */
  const kept = new Set<Kept>()
  /** When each caller was cut off. */
  const blamed = new Map<string, number>()
  /** Bytes of those that were cut off, until they give them back. */
  let leaving = 0
  let isWatched = false
  const accountOf = (caller: string): string =>
    monotonic(clock) - (blamed.get(caller) ?? -Infinity) < BLAMED_MS ? BLAMED : caller
  const admit = () => {
    for (let next = turns.next(shared); next !== undefined; next = turns.next(shared)) {
      if (!shared.hasRoom(next.bytes)) {
        if (!isWatched) detach('cutting off what keeps room from others', watchKept())
        return
      }
      turns.serve(next)
      shared.add(next.account, next.bytes)
      next.go()
    }
  }
  const blame = (caller: string) => {
    const now = monotonic(clock)
    for (const [other, since] of blamed) if (now - since >= BLAMED_MS) blamed.delete(other)
    blamed.set(caller, now)
    turns.move(caller, BLAMED)
  }
  /** Goes on while a turn finds no room, and none that is about to be given back. */
  const watchKept = async (): Promise<void> => {
    isWatched = true
    for (;;) {
      const next = turns.next(shared)
      const [oldest] = kept
      if (next === undefined || oldest === undefined || shared.hasRoom(next.bytes, leaving)) break
      const left = oldest.since + KEPT_MS - monotonic(clock)
      if (left > 0) {
        await clock.sleep(left)
        continue
      }
      kept.delete(oldest)
      if (oldest.holder.cutOff()) {
        leaving += oldest.turn.bytes
        blame(oldest.holder.caller)
        continue
      }
      oldest.since = monotonic(clock)
      kept.add(oldest)
    }
    isWatched = false
  }
  const keep = (turn: Turn, holder: RoomHolder): (() => void) => {
    const one: Kept = { turn, holder, since: monotonic(clock) }
    kept.add(one)
    return () => {
      if (!kept.delete(one)) leaving -= turn.bytes
      shared.add(turn.account, -turn.bytes)
      admit()
    }
  }
  const takeNow = (bytes: number, holder: RoomHolder): (() => void) => {
    const turn: Turn = { bytes, account: accountOf(holder.caller), go: () => {} }
    shared.add(turn.account, bytes)
    return keep(turn, holder)
  }
  return {
    get bytesInUse() {
      return shared.inUse
    },
    takeIfFree: (bytes, holder) => {
      const isFree = turns.isEmpty && shared.hasShare(accountOf(holder.caller), bytes) && shared.hasRoom(bytes)
      return isFree ? takeNow(bytes, holder) : undefined
    },
    takeNow,
    take: (bytes, holder) =>
      new Promise((resolve, reject) => {
        const { signal, caller } = holder
        const turn: Turn = {
          bytes,
          account: accountOf(caller),
          go: () => {
            signal.removeEventListener('abort', leave)
            resolve(keep(turn, holder))
          },
        }
        const leave = () => {
          turns.remove(turn)
          reject(signal.reason)
          admit()
        }
        if (signal.aborted) return reject(signal.reason)
        signal.addEventListener('abort', leave, { once: true })
        turns.add(turn)
        admit()
      }),
  }
}
