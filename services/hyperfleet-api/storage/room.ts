/** Bytes that may be in memory at a time, shared by all that read long lists and old changes (API-91). */
export interface Room {
  /** Bytes that are in use. */
  readonly bytesInUse: number
  /**
   * Waits for its turn and for room; what is larger than all of it gets all of it.
   * @returns how to give it back
   */
  take(bytes: number, signal: AbortSignal): Promise<() => void>
}

/** First come, first served: a large portion is not passed by small ones for ever. */
export const createRoom = (size: number): Room => {
  let bytesInUse = 0
  const waiting = new Set<{ readonly bytes: number; readonly go: () => void }>()
  const admit = () => {
    for (const next of waiting) {
      if (bytesInUse > 0 && bytesInUse + next.bytes > size) return
      waiting.delete(next)
      bytesInUse += next.bytes
      next.go()
    }
  }
  return {
    get bytesInUse() {
      return bytesInUse
    },
    take: (bytes, signal) =>
      new Promise((resolve, reject) => {
        const giveBack = () => {
          bytesInUse -= bytes
          admit()
        }
        const turn = {
          bytes,
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
