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

/** What one caller may have of it, unless it is a single piece: others find room beside one that gives nothing back. */
const SHARE_OF_CALLER = 1 / 4

/** First come, first served: a large portion is not passed by small ones for ever. A caller that has its share lets others pass. */
export const createRoom = (size: number): Room => {
  let bytesInUse = 0
  const inUseBy = new Map<string, number>()
  const waiting = new Set<{ readonly bytes: number; readonly caller: string; readonly go: () => void }>()
  const add = (caller: string, bytes: number) => {
    bytesInUse += bytes
    const own = (inUseBy.get(caller) ?? 0) + bytes
    if (own > 0) inUseBy.set(caller, own)
    else inUseBy.delete(caller)
  }
  const admit = () => {
    for (const next of waiting) {
      const own = inUseBy.get(next.caller) ?? 0
      if (own > 0 && own + next.bytes > size * SHARE_OF_CALLER) continue
      if (bytesInUse > 0 && bytesInUse + next.bytes > size) return
      waiting.delete(next)
      add(next.caller, next.bytes)
      next.go()
    }
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
        const turn = {
          bytes,
          caller,
          go: () => {
            signal.removeEventListener('abort', leave)
            resolve(giveBack)
          },
        }
        const leave = () => {
          waiting.delete(turn)
          reject(signal.reason)
          admit()
        }
        if (signal.aborted) return reject(signal.reason)
        signal.addEventListener('abort', leave, { once: true })
        waiting.add(turn)
        admit()
      }),
  }
}
