import { execFileSync } from 'node:child_process'
import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { afterEach, expect, test, vi } from 'vitest'
import { keepSmall } from './keep-small.ts'

const MEBIBYTE = 2 ** 20

setFlagsFromString('--allow-natives-syntax')
const statusOf = runInThisContext('(of) => %GetOptimizationStatus(of)') as (of: unknown) => number
/** V8's kOptimized. */
const OPTIMISED = 1 << 4

let made = 0

/** Does V8 optimise a function that runs for so long? @param limit milliseconds */
const isOptimised = (limit: number): boolean => {
  const sum = runInThisContext(`(n) => { let s = ${made++}; for (let i = 0; i < n; i++) s += i % 5; return s }`) as (
    n: number,
  ) => number
  const end = performance.now() + limit
  while (performance.now() < end) {
    sum(10)
    if ((statusOf(sum) & OPTIMISED) !== 0) return true
  }
  return false
}

afterEach(() => {
  vi.useRealTimers()
  setFlagsFromString('--no-optimize-for-size')
  for (const compiler of ['sparkplug', 'maglev', 'opt']) setFlagsFromString(`--${compiler}`)
})

/** The largest heap of a program that keeps the last 5,000 of the objects that it makes, in MiB. */
const largestHeap = (setUp: string): number => {
  const program = `
    import { growHeapSlowly } from ${JSON.stringify(import.meta.resolve('./grow-heap-slowly.ts'))}
    ${setUp}
    const kept = []
    let largest = 0
    for (let n = 0; n < 600_000; n++) {
      kept[n % 5_000] = { n, text: 'object ' + n, list: [n] }
      if (n % 500 === 0) largest = Math.max(largest, process.memoryUsage().heapUsed)
    }
    process.stdout.write(String(largest))`
  const flags = ['--max-old-space-size=80', '--max-semi-space-size=2', '--input-type=module']
  const answer = execFileSync(process.execPath, [...flags, '--eval', program], { encoding: 'utf8', stdio: 'pipe' })
  return Number(answer) / MEBIBYTE
}

test('RUNTIME-90 a small heap is collected before it has grown by 8 MiB', () => {
  expect(largestHeap('growHeapSlowly()')).toBeLessThan(largestHeap('') - 3)
})

test('RUNTIME-91 until it is ready nothing is optimised; then all is, and what the start left is collected', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  const ready = Promise.withResolvers<boolean>()
  keepSmall(ready.promise)
  expect(isOptimised(300)).toBe(false)
  ready.resolve(true)
  await ready.promise
  expect(isOptimised(20_000)).toBe(true)
  const left = new WeakRef({ of: 'the start' })
  // A reference that was read in a turn holds until its end.
  await new Promise((resolve) => setImmediate(resolve))
  vi.advanceTimersByTime(2_999)
  expect(vi.getTimerCount()).toBe(1)
  await new Promise((resolve) => setImmediate(resolve))
  vi.advanceTimersByTime(1)
  expect(left.deref()).toBeUndefined()
  expect(vi.getTimerCount()).toBe(0)
})

test('RUNTIME-91 of a start that fails nothing is left behind', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  keepSmall(Promise.resolve(false))
  await Promise.resolve()
  expect(vi.getTimerCount()).toBe(0)
  expect(isOptimised(20_000)).toBe(true)
})
