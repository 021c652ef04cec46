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

const NEVER = Number.POSITIVE_INFINITY

const withoutTimers = (run: () => void): void => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    run()
  } finally {
    setFlagsFromString('--maglev')
    vi.useRealTimers()
  }
}

test('RUNTIME-82 V8 optimises nothing until the start is over, and then as ever', () => {
  withoutTimers(() => {
    expect(optimised(20_000)).not.toBe('not')
    optimiseAfterStart(undefined, { cpu: NEVER, atMost: 3000 })
    expect(optimised(500)).toBe('not')
    vi.advanceTimersByTime(2999)
    expect(optimised(500)).toBe('not')
    vi.advanceTimersByTime(1)
    expect(optimised(20_000)).not.toBe('not')
    expect(vi.getTimerCount()).toBe(0)
    optimiseAfterStart(['sparkplug', 'opt'], { cpu: NEVER, atMost: 1000 })
    vi.advanceTimersByTime(1000)
    expect(optimised(20_000)).toBe('by TurboFan')
  })
})

test('RUNTIME-85 a start is over when it has used its CPU, however long that takes', () => {
  const used = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  withoutTimers(() => {
    const cpu = used() + 500
    optimiseAfterStart(undefined, { cpu, atMost: NEVER })
    vi.advanceTimersByTime(60_000)
    expect(optimised(50)).toBe('not')
    while (used() < cpu) expect(optimised(50)).toBe('not')
    vi.advanceTimersByTime(200)
    expect(optimised(20_000)).not.toBe('not')
  })
})
