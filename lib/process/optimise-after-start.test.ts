import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import { optimiseAfterStart } from './optimise-after-start.ts'

setFlagsFromString('--allow-natives-syntax')
const statusOf = runInThisContext('(of) => %GetOptimizationStatus(of)') as (of: unknown) => number
/** V8's kOptimized, which Maglev or TurboFan made, and its kMaglevved. */
const OPTIMISED = 1 << 4
const BY_MAGLEV = 1 << 5

let made = 0

/** A function of its own each time (V8 knows the same source again), and how V8 has optimised it by the time that it has run for so long. @param limit milliseconds */
const optimised = (limit: number): 'not' | 'by Maglev' | 'by TurboFan' => {
  const sum = runInThisContext(`(n) => { let s = ${made++}; for (let i = 0; i < n; i++) s += i % 7; return s }`) as (
    n: number,
  ) => number
  const end = performance.now() + limit
  while (performance.now() < end) {
    sum(10)
    const status = statusOf(sum)
    if ((status & OPTIMISED) !== 0) return (status & BY_MAGLEV) === 0 ? 'by TurboFan' : 'by Maglev'
  }
  return 'not'
}

test('RUNTIME-82 V8 optimises nothing until the start is over, and then as ever', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    expect(optimised(20_000)).not.toBe('not')
    optimiseAfterStart(3000)
    expect(optimised(500)).toBe('not')
    vi.advanceTimersByTime(2999)
    expect(optimised(500)).toBe('not')
    vi.advanceTimersByTime(1)
    expect(optimised(20_000)).not.toBe('not')
    optimiseAfterStart(1000, ['sparkplug', 'opt'])
    vi.advanceTimersByTime(1000)
    expect(optimised(20_000)).toBe('by TurboFan')
  } finally {
    setFlagsFromString('--maglev')
    vi.useRealTimers()
  }
})
