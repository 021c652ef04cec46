import { setFlagsFromString } from 'node:v8'
import { expect, test, vi } from 'vitest'
import { optimiseUnderLoad } from './optimise-under-load.ts'

setFlagsFromString('--allow-natives-syntax')
const statusOf = new Function('of', 'return %GetOptimizationStatus(of)') as (of: unknown) => number
/** V8's kOptimized: Maglev or TurboFan made it. */
const OPTIMISED = 1 << 4

let made = 0

/** A function of its own each time (V8 knows the same source again), and whether V8 has optimised it by the time that it has run for so long. @param limit milliseconds */
const isOptimised = (limit: number): boolean => {
  const sum = new Function('n', `let s = ${made++}; for (let i = 0; i < n; i++) s += i % 7; return s`) as (
    n: number,
  ) => number
  const end = performance.now() + limit
  while (performance.now() < end) {
    sum(1000)
    if ((statusOf(sum) & OPTIMISED) !== 0) return true
  }
  return false
}

test('RUNTIME-82 V8 optimises from the first load on: neither before, nor for a start or a short burst', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let used = 0
  vi.spyOn(process, 'cpuUsage').mockImplementation(() => ({ user: used * 1000, system: 0 }))
  const seconds = (...milliseconds: readonly number[]) => {
    for (const each of milliseconds) {
      used += each
      vi.advanceTimersByTime(1000)
    }
  }
  try {
    expect(isOptimised(20_000)).toBe(true)
    optimiseUnderLoad()
    seconds(900, 900, 900, 10, 240, 240, 600, 100)
    expect(isOptimised(500)).toBe(false)
    seconds(300, 300)
    expect(isOptimised(20_000)).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
    // A load from the start on is one all the same.
    optimiseUnderLoad()
    seconds(900, 900, 900)
    expect(isOptimised(500)).toBe(false)
    seconds(900)
    expect(isOptimised(20_000)).toBe(true)
  } finally {
    vi.restoreAllMocks()
    vi.useRealTimers()
  }
})
