import { execFile } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AbortScope } from './abort-scope.ts'

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

/** Runs the lines in a Node.js of its own, with `collect()` for a forced collection; gives what they print. */
const runWithCollections = async (lines: string): Promise<unknown> => {
  const program = `
    import { setImmediate as turn } from 'node:timers/promises'
    import { getEventListeners } from 'node:events'
    import { AbortScope } from ${JSON.stringify(join(import.meta.dirname, 'abort-scope.ts'))}
    const collect = async () => { for (let i = 0; i < 3; i++) { await turn(); gc() } }
    ${lines}`
  const flags = ['--expose-gc', '--disable-warning=ExperimentalWarning', '--input-type=module']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--eval', program])
  return JSON.parse(stdout)
}

describe('RUNTIME-46', () => {
  test('however sources abort, time passes and the scope ends: it aborts with the first reason, and no source knows it then', () => {
    const step = fc.oneof(fc.nat({ max: 2 }), fc.constant('abort'), fc.constant('dispose'))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), fc.nat({ max: 3 }), (steps, begin) => {
        const sources = [0, 1, 2].map(() => new AbortController())
        let scope: AbortScope | undefined
        let expected: unknown
        for (const [index, one] of [...steps, 'end'].entries()) {
          if (index === begin || (one === 'end' && scope === undefined)) {
            scope = new AbortScope(...sources.map(({ signal }) => signal), undefined).within(60_000)
            expected = sources.find(({ signal }) => signal.aborted)?.signal.reason
          }
          if (typeof one === 'number') sources[one]?.abort(`source ${one}`)
          else if (one === 'abort') scope?.abort('own')
          else if (one === 'dispose') scope?.[Symbol.dispose]()
          if (scope?.signal.aborted) expected ??= scope.signal.reason
          const isOpen = scope !== undefined && expected === undefined
          for (const { signal } of sources) if (!signal.aborted) expect(listenersOf(signal)).toBe(isOpen ? 1 : 0)
        }
        const { signal } = scope as AbortScope
        const first = sources.find((source) => source.signal.aborted && source.signal.reason === signal.reason)
        if (signal.aborted && typeof signal.reason === 'string' && signal.reason !== 'own') expect(first).toBeDefined()
        expect(signal.reason).toBe(expected)
        scope?.abort()
      }),
    )
  })

  test('a scope that ends with its block ends what was begun in it', () => {
    const long = new AbortController()
    let inner: AbortSignal
    {
      using scope = new AbortScope(long.signal)
      inner = scope.signal
      expect(inner.aborted).toBe(false)
    }
    expect(inner.reason).toMatchObject({ name: 'AbortError' })
    expect(long.signal.aborted).toBe(false)
    expect(listenersOf(long.signal)).toBe(0)
  })

  test('a limit aborts with a TimeoutError, one of no time soon, one of months not at all', async () => {
    using none = new AbortScope().within(0)
    await new Promise((resolve) => none.signal.addEventListener('abort', resolve))
    expect(none.signal.reason).toMatchObject({ name: 'TimeoutError' })
    const day = 24 * 60 * 60 * 1_000
    const long = [25 * day, 60 * day, day + 0.5].map((limit) => new AbortScope().within(limit))
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(long.map(({ signal }) => signal.aborted)).toEqual([false, false, false])
    for (const scope of long) scope.abort()
  })

  // RUNTIME-88
  test('what came in time while the process stood still comes before the limit', async () => {
    const worker = new Worker(
      `const { parentPort } = require('node:worker_threads')
      parentPort.on('message', () => setTimeout(() => parentPort.postMessage('came'), 20))
      parentPort.postMessage('ready')`,
      { eval: true },
    )
    await once(worker, 'message')
    worker.postMessage('go')
    using scope = new AbortScope().within(150)
    worker.once('message', (message) => scope.abort(message))
    // Timers that are due come next, before anything is read.
    await new Promise((resolve) => setImmediate(resolve))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250)
    await new Promise((resolve) => scope.signal.addEventListener('abort', resolve))
    expect(scope.signal.reason).toBe('came')
    await worker.terminate()
  })

  test('a process does not wait for a limit', async () => {
    expect(await runWithCollections(`console.log(new AbortScope().within(600_000).signal.aborted)`)).toBe(false)
  })

  /** nodejs/node#65995, in lines that count how many of 300 aborts are told. What composes a signal of another is `compose`. */
  const LOSSES = {
    'a source that aborts and is collected before anything looks': `
      let sources = Array.from({ length: 300 }, () => new AbortController())
      const signals = sources.map(({ signal }) => compose(signal))
      for (const source of sources) source.abort('over')
      sources = undefined
      await collect()
      const told = signals.filter(({ aborted, reason }) => aborted && reason === 'over').length`,
    'a limit that nothing else holds, and that is over after a collection': `
      const signals = Array.from({ length: 300 }, () => compose(AbortSignal.timeout(20)))
      await collect()
      await pause(40)
      const told = signals.filter(({ aborted }) => aborted).length`,
  }
  const tell = (compose: string, lines: string) =>
    runWithCollections(`
      import { setTimeout as pause } from 'node:timers/promises'
      const compose = ${compose}
      ${lines}
      console.log(told)`)

  test.each(Object.entries(LOSSES))('%s: no abort is lost', async (_, lines) => {
    expect(await tell('(source) => new AbortScope(source).signal', lines)).toBe(300)
  })

  test('a signal that lives as long as the process, after 100,000 requests that it could have ended: it holds nothing of them', async () => {
    const held = await runWithCollections(`
      const long = new AbortController()
      const request = () => {
        using scope = new AbortScope(long.signal).within(30_000)
        scope.signal.addEventListener('abort', () => {}, { once: true })
      }
      for (let i = 0; i < 1_000; i++) request()
      await collect()
      const before = process.memoryUsage().heapUsed
      for (let i = 0; i < 100_000; i++) request()
      await collect()
      const kept = Object.getOwnPropertySymbols(long.signal)
        .map((key) => long.signal[key])
        .map((value) => (value instanceof Set || value instanceof Map ? value.size : 0))
      console.log(JSON.stringify({
        listeners: getEventListeners(long.signal, 'abort').length,
        entries: Math.max(0, ...kept),
        isGrown: process.memoryUsage().heapUsed - before > 2_000_000,
      }))`)
    expect(held).toEqual({ listeners: 0, entries: 0, isGrown: false })
  })
})
