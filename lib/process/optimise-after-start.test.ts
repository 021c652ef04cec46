import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import { optimiseAfterStart } from './optimise-after-start.ts'

setFlagsFromString('--allow-natives-syntax')
const statusOf = runInThisContext('(of) => %GetOptimizationStatus(of)') as (of: unknown) => number
/** V8's kOptimized: Maglev or TurboFan made it. */
const OPTIMISED = 1 << 4

let made = 0

/** A function of its own each time (V8 knows the same source again), and whether V8 has optimised it by the time that it has run for so long. @param limit milliseconds */
const isOptimised = (limit: number): boolean => {
  const sum = runInThisContext(`(n) => { let s = ${made++}; for (let i = 0; i < n; i++) s += i % 7; return s }`) as (
    n: number,
  ) => number
  const end = performance.now() + limit
  while (performance.now() < end) {
    sum(1000)
    if ((statusOf(sum) & OPTIMISED) !== 0) return true
  }
  return false
}

test('RUNTIME-82 V8 optimises nothing until the start is over, and then as ever', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    expect(isOptimised(20_000)).toBe(true)
    optimiseAfterStart(3000)
    expect(isOptimised(500)).toBe(false)
    vi.advanceTimersByTime(2999)
    expect(isOptimised(500)).toBe(false)
    vi.advanceTimersByTime(1)
    expect(isOptimised(20_000)).toBe(true)
  } finally {
    vi.useRealTimers()
  }
})
