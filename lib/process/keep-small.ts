import { collectAfterStart } from './collect-garbage.ts'
import { detach } from './detach.ts'
import { growHeapSlowly } from './grow-heap-slowly.ts'
import { optimiseAfterStart } from './optimise-after-start.ts'

/** What a start leaves is collected so long after it, in milliseconds. */
const COLLECT_AFTER_MS = 3_000

/**
 * Keeps the memory of this process small, for a program that mostly waits: V8 optimises nothing until it is ready, what the start left is
 * collected three seconds later, and the heap grows slowly (RUNTIME-91). To be called first, before an operator starts.
 * @param ready of an operator: whether it came so far
 */
export const keepSmall = (ready: Promise<boolean>): void => {
  growHeapSlowly()
  const optimise = optimiseAfterStart()
  const begin = (isReady: boolean): void => {
    optimise()
    if (isReady) collectAfterStart(COLLECT_AFTER_MS)
  }
  detach('waiting until the start is over', ready.then(begin))
}
