/** Work that is done again and again while a world is there. */
import { setTimeout as delay } from 'node:timers/promises'

export interface Working extends AsyncDisposable {
  /** Does nothing until `work`. */
  rest(): void
  work(): void
  /** Resolves when it has been done once more, from now on, without failing. */
  done(): Promise<void>
}

/** Does it again and again; what fails is done again. */
export const repeat = (intervalMs: number, work: () => Promise<void>): Working => {
  const ending = new AbortController()
  let isResting = false
  let begun = 0
  /** The last one that did not fail. */
  let done = 0
  const working = (async () => {
    while (!ending.signal.aborted) {
      const mine = ++begun
      if (!isResting)
        await work().then(
          () => {
            done = mine
          },
          () => undefined,
        )
      await delay(intervalMs)
    }
  })()
  return {
    rest: () => {
      isResting = true
    },
    work: () => {
      isResting = false
    },
    done: async () => {
      const next = begun + 1
      while (done < next) await delay(Math.min(intervalMs, 200))
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await working
    },
  }
}
