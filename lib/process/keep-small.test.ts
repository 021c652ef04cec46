import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { afterEach, expect, test, vi } from 'vitest'
import { keepSmall } from './keep-small.ts'

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

/** How often V8 collects all of the heap of a program that keeps the last 30,000 of a million small objects. */
const collections = (setUp: string): number => {
  const program = `
    import { growHeapSlowly } from ${JSON.stringify(import.meta.resolve('./grow-heap-slowly.ts'))}
    import { collectGarbage } from ${JSON.stringify(import.meta.resolve('./collect-garbage.ts'))}
    ${setUp}
    const kept = []
    for (let n = 0; n < 1_000_000; n++) {
      kept[n % 30_000] = { n, text: 'object ' + n, list: [n] }
      if (n === 30_000) collectGarbage()
    }`
  // Threads of V8 would collect later or sooner on a busy machine.
  const threads = ['--single-threaded-gc', '--no-incremental-marking']
  const flags = [...threads, '--trace-gc', '--max-old-space-size=80', '--max-semi-space-size=2', '--input-type=module']
  const folder = mkdtempSync(join(tmpdir(), 'muster-heap-'))
  try {
    // Into a file: V8 drops lines that a pipe does not take at once.
    const trace = join(folder, 'trace')
    const output = openSync(trace, 'w')
    execFileSync(process.execPath, [...flags, '--eval', program], { stdio: ['ignore', output, 'inherit'] })
    closeSync(output)
    return [...readFileSync(trace, 'utf8').matchAll(/Mark-Compact/g)].length
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Of 1,000,000 such objects V8 by itself makes 16 or 17 collections; where it puts them at first is chance, so 7 may do. */
const MORE_THAN_BY_ITSELF = 22

test('RUNTIME-90 a small heap is collected before it has grown by 8 MiB', () => {
  const isMore = (setUp: string, programs: number): boolean =>
    Array.from({ length: programs }).some(() => collections(setUp) > MORE_THAN_BY_ITSELF)
  expect(isMore('', 3)).toBe(false)
  expect(isMore('growHeapSlowly()', 15)).toBe(true)
}, 60_000)

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
