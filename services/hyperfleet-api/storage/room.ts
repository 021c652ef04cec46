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

/** What one caller may have of such a bound, unless it is a single piece: others find room beside one that gives nothing back. */
export const SHARE_OF_CALLER = 1 / 4

interface Turn {
  readonly bytes: number
  readonly go: () => void
}

/**
 * Callers take turns, and each is served in its own order: a large portion is not passed by small ones for ever, and a caller with many
 * keeps no other one waiting for all of them. One that has its share lets others pass.
 */
export const createRoom = (size: number): Room => {
  let bytesInUse = 0
  const inUseBy = new Map<string, number>()
  /** By caller, the next one first. */
  const waiting = new Map<string, Set<Turn>>()
  const add = (caller: string, bytes: number) => {
    bytesInUse += bytes
    const own = (inUseBy.get(caller) ?? 0) + bytes
    if (own > 0) inUseBy.set(caller, own)
    else inUseBy.delete(caller)
  }
  const hasShare = (caller: string, bytes: number): boolean => {
    const own = inUseBy.get(caller) ?? 0
    return own > 0 && own + bytes > size * SHARE_OF_CALLER
  }
  /** @returns false when none may go on now */
  const admitOne = (): boolean => {
    for (const [caller, turns] of waiting) {
      const [next] = turns
      if (next === undefined || hasShare(caller, next.bytes)) continue
      if (bytesInUse > 0 && bytesInUse + next.bytes > size) return false
      turns.delete(next)
      waiting.delete(caller)
      if (turns.size > 0) waiting.set(caller, turns)
      add(caller, next.bytes)
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
      return bytesInUse
    },
    take: (bytes, { signal, caller }) =>
      new Promise((resolve, reject) => {
        const giveBack = () => {
          add(caller, -bytes)
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
