import { detach } from '#lib/process/detach.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { SharedBytes } from './shared-bytes.ts'

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

interface Turn {
  readonly bytes: number
  /** Whose share it counts for. */
  account: string
  readonly go: () => void
}

/** Room that was taken. */
interface Kept {
  readonly turn: Turn
  readonly holder: RoomHolder
  /** Since it was taken or last looked at, by a monotonic clock. */
  since: number
}

/** How turns come to the line of their account, and leave it. */
const lineUp = (waiting: Map<string, Set<Turn>>) => ({
  line: (turn: Turn): void => {
    waiting.set(turn.account, (waiting.get(turn.account) ?? new Set()).add(turn))
  },
  leaveLine: (turn: Turn): void => {
    const turns = waiting.get(turn.account)
    turns?.delete(turn)
    if (turns?.size === 0) waiting.delete(turn.account)
  },
})

interface Lines {
  line(turn: Turn): void
  leaveLine(turn: Turn): void
  admit(): void
  keep(turn: Turn, holder: RoomHolder): () => void
}

/** Until there is room, or the holder leaves. */
const waitForTurn = (
  { bytes, account }: Pick<Turn, 'bytes' | 'account'>,
  holder: RoomHolder,
  { line, leaveLine, admit, keep }: Lines,
): Promise<() => void> =>
  new Promise((resolve, reject) => {
    const { signal } = holder
    const turn: Turn = {
      bytes,
      account,
      go: () => {
        signal.removeEventListener('abort', leave)
        resolve(keep(turn, holder))
      },
    }
    const leave = () => {
      leaveLine(turn)
      reject(signal.reason)
      admit()
    }
    if (signal.aborted) return reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    line(turn)
    admit()
  })

/** Callers that were cut off, for a while. */
const createBlamed = (clock: Pick<Clock, 'now' | 'monotonic'>) => {
  const times = new Map<string, number>()
  return {
    add: (caller: string): void => {
      const now = monotonic(clock)
      for (const [other, since] of times) if (now - since >= BLAMED_MS) times.delete(other)
      times.set(caller, now)
    },
    accountOf: (caller: string): string =>
      monotonic(clock) - (times.get(caller) ?? -Infinity) < BLAMED_MS ? BLAMED : caller,
  }
}

/**
 * Callers take turns, and each is served in its own order: a large portion is not passed by small ones for ever, and a caller with many
 * keeps no other one waiting for all of them. One that has its share lets others pass. While the next turn finds no room, those are cut off
 * that have kept theirs for long, the oldest first, and have one share together for a while (API-204): a few callers that take nothing, and
 * come again, would stop all others.
 */
export const createRoom = (size: number, clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>): Room => {
  const shared = new SharedBytes(size)
  /** By account, the next one first. */
  const waiting = new Map<string, Set<Turn>>()
  /** The oldest first, without those that were cut off. */
  const kept = new Set<Kept>()
  const blamed = createBlamed(clock)
  /** Bytes of those that were cut off, until they give them back. */
  let leaving = 0
  let isWatched = false
  const { accountOf } = blamed
  const { line, leaveLine } = lineUp(waiting)
  /** The first of the first account that does not have its share. */
  const findNext = (): Turn | undefined => {
    for (const [account, [next]] of waiting) if (next !== undefined && shared.hasShare(account, next.bytes)) return next
    return undefined
  }
  const admit = () => {
    for (let next = findNext(); next !== undefined; next = findNext()) {
      if (!shared.hasRoom(next.bytes)) {
        if (!isWatched) detach('cutting off what keeps room from others', watchKept())
        return
      }
      leaveLine(next)
      // Its account comes last now.
      const others = waiting.get(next.account)
      if (others !== undefined && waiting.delete(next.account)) waiting.set(next.account, others)
      shared.add(next.account, next.bytes)
      next.go()
    }
  }
  const blame = (caller: string) => {
    blamed.add(caller)
    const turns = waiting.get(caller) ?? []
    waiting.delete(caller)
    for (const turn of turns) {
      turn.account = BLAMED
      line(turn)
    }
  }
  /** Goes on while a turn finds no room, and none that is about to be given back. */
  const watchKept = async (): Promise<void> => {
    isWatched = true
    for (;;) {
      const next = findNext()
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
    takeNow,
    takeIfFree: (bytes, holder) =>
      waiting.size === 0 && shared.hasRoom(bytes) && shared.hasShare(accountOf(holder.caller), bytes)
        ? takeNow(bytes, holder)
        : undefined,
    take: (bytes, holder) =>
      waitForTurn({ bytes, account: accountOf(holder.caller) }, holder, { line, leaveLine, admit, keep }),
  }
}
