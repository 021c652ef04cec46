/** Bytes that may be in memory at a time, shared by all that read long lists and old changes (API-91). */
export interface Room {
  /** Bytes that are taken. */
  readonly taken: number
  /**
   * Waits for its turn and for room; what is larger than all of it gets all of it.
   * @returns how to give it back
   */
  take(bytes: number, signal: AbortSignal): Promise<() => void>
}

/** First come, first served: a large portion is not passed by small ones for ever. */
export const createRoom = (size: number): Room => {
  let taken = 0
  const waiting = new Set<{ readonly bytes: number; readonly go: () => void }>()
  const admit = () => {
    for (const next of waiting) {
      if (taken > 0 && taken + next.bytes > size) return
      waiting.delete(next)
      taken += next.bytes
      next.go()
    }
  }
  return {
    get taken() {
      return taken
    },
    take: (bytes, signal) =>
      new Promise((resolve, reject) => {
        const giveBack = () => {
          taken -= bytes
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
