import { SharedBytes } from './shared-bytes.ts'

/** For whom room is taken. */
export interface RoomHolder {
  /** Ends the waiting. */
  readonly signal: AbortSignal
  /** Tells callers apart. */
  readonly caller: string
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
}

interface Turn {
  readonly bytes: number
  readonly go: () => void
}

/**
 * Callers take turns, and each is served in its own order: a large portion is not passed by small ones for ever, and a caller with many
 * keeps no other one waiting for all of them. One that has its share lets others pass.
 */
export const createRoom = (size: number): Room => {
  const shared = new SharedBytes(size)
  /** By caller, the next one first. */
  const waiting = new Map<string, Set<Turn>>()
  /** @returns false when none may go on now */
  const admitOne = (): boolean => {
    for (const [caller, turns] of waiting) {
      const [next] = turns
      if (next === undefined || !shared.hasShare(caller, next.bytes)) continue
      if (!shared.hasRoom(next.bytes)) return false
      turns.delete(next)
      waiting.delete(caller)
      if (turns.size > 0) waiting.set(caller, turns)
      shared.add(caller, next.bytes)
      next.go()
      return true
    }
    return false
  }
  const admit = () => {
    while (admitOne());
  }
  return {
    get bytesInUse() {
      return shared.inUse
    },
    take: (bytes, { signal, caller }) =>
      new Promise((resolve, reject) => {
        const giveBack = () => {
          shared.add(caller, -bytes)
          admit()
        }
        const turn: Turn = {
          bytes,
          go: () => {
            signal.removeEventListener('abort', leave)
            resolve(giveBack)
          },
        }
        const leave = () => {
          const turns = waiting.get(caller)
          turns?.delete(turn)
          if (turns?.size === 0) waiting.delete(caller)
          reject(signal.reason)
          admit()
        }
        if (signal.aborted) return reject(signal.reason)
        signal.addEventListener('abort', leave, { once: true })
        const turns = waiting.get(caller) ?? new Set()
        waiting.set(caller, turns.add(turn))
        admit()
      }),
  }
}
