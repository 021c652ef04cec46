import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import { collectAfterStart, collectGarbage } from './collect-garbage.ts'

const MEBIBYTE = 2 ** 20

/** Made, old, and used no more. */
const makeGarbage = (): void => {
  const objects = Array.from({ length: 300_000 }, (_, index) => ({ index, text: `object ${index}` }))
  collectGarbage()
  expect(objects).toHaveLength(300_000)
}

const heapUsed = (): number => process.memoryUsage().heapUsed / MEBIBYTE

test('what is used no more is collected, with its pages', () => {
  collectGarbage()
  const before = heapUsed()
  makeGarbage()
  expect(heapUsed()).toBeGreaterThan(before + 15)
  const total = process.memoryUsage().heapTotal
  collectGarbage()
  expect(heapUsed()).toBeLessThan(before + 5)
  expect(process.memoryUsage().heapTotal).toBeLessThan(total - 10 * MEBIBYTE)
})

test('RUNTIME-81 what a start leaves is collected once, some time after it', () => {
  vi.useFakeTimers()
  try {
    collectAfterStart(5000)
    const before = heapUsed()
    makeGarbage()
    vi.advanceTimersByTime(4999)
    expect(heapUsed()).toBeGreaterThan(before + 15)
    vi.advanceTimersByTime(1)
    expect(heapUsed()).toBeLessThan(before + 5)
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

test('RUNTIME-84 bytecode goes, and what runs again is compiled again', () => {
  setFlagsFromString('--allow-natives-syntax')
  const statusOf = runInThisContext('(of) => %GetOptimizationStatus(of)') as (of: unknown) => number
  /** V8's kIsLazy: there is no code of it. */
  const isCompiled = (of: unknown): boolean => (statusOf(of) & (1 << 18)) === 0
  const double = runInThisContext('(n) => 2 * n') as (n: number) => number
  expect(double(21)).toBe(42)
  expect(isCompiled(double)).toBe(true)
  collectGarbage()
  expect(isCompiled(double)).toBe(false)
  expect(double(21)).toBe(42)
  expect(isCompiled(double)).toBe(true)
})
