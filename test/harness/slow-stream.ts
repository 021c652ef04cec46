import { Transform } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

/** How many pieces a second. */
const PIECES = 10

/** What comes in goes out at this rate. */
export const throttled = (bytesPerSecond: number): Transform => {
  const size = Math.max(1, Math.floor(bytesPerSecond / PIECES))
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const give = async () => {
        for (let from = 0; from < chunk.length && !this.destroyed; from += size) {
          this.push(chunk.subarray(from, from + size))
          await delay(1_000 / PIECES)
        }
      }
      give().then(() => done(), done)
    },
  })
}

/** What comes in goes out so many milliseconds later, in its order as long as that does not fall. */
export const delayed = (ms: () => number): Transform => {
  const stream: Transform = new Transform({
    transform(chunk: Buffer, _, done) {
      setTimeout(() => {
        if (!stream.destroyed) stream.push(chunk)
      }, ms())
      done()
    },
    flush(done) {
      setTimeout(done, ms())
    },
  })
  return stream
}
