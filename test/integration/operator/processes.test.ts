import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { controller, loadTransport, operator } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { eventually, IN_ANNOTATIONS, memoryLog, Widget, type World, world } from './world.ts'

const plane = await sharedControlPlane()
const HANDLED = 'muster.dev/killed.handled'

interface Process extends AsyncDisposable {
  readonly lines: readonly string[]
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>
}

const start = (the: World, identity: string, mode = 'plain'): Process => {
  const script = new URL('./process.ts', import.meta.url).pathname
  const child: ChildProcess = spawn(process.execPath, [script, plane.kubeconfig, the.namespace, identity, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  if (child.stdout !== null) createInterface(child.stdout).on('line', (line) => lines.push(line))
  const exited = once(child, 'exit')
  const kill = async (signal: 'SIGKILL' | 'SIGTERM') => {
    child.kill(signal)
    await exited
    return child.exitCode
  }
  return {
    lines,
    kill,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await kill('SIGKILL')
    },
  }
}

describe('a process that ends in the middle of a handler', () => {
  // RUNTIME-17
  it('by SIGKILL: the next one calls the handler again and finishes', async () => {
    await using the = await world(plane)
    await using first = start(the, 'first', 'slow')
    await the.create('one')
    await eventually(() => expect(first.lines).toContain('create begins one'))
    await first.kill('SIGKILL')
    await using second = start(the, 'second', 'slow')
    await eventually(() => expect(second.lines).toContain('create begins one'))
    await the.change('one', { spec: { color: 'go' } })
    await eventually(async () => expect((await the.get('one'))?.metadata.annotations).toHaveProperty([HANDLED]))
    expect(second.lines).toEqual(['ready', 'create begins one', 'create ends one'])
  })

  it('by SIGTERM: the handler is told, the process ends in order, and the next one begins again', async () => {
    await using the = await world(plane)
    await using first = start(the, 'first', 'slow')
    await the.create('one')
    await eventually(() => expect(first.lines).toContain('create begins one'))
    expect(await first.kill('SIGTERM')).toBe(0)
    expect(first.lines.at(-1)).toBe('stopped')
    expect((await the.get('one'))?.metadata.annotations).toBeUndefined()
    await using second = start(the, 'second', 'slow')
    await eventually(() => expect(second.lines).toContain('create begins one'))
  })
})

describe('two processes under one lease', () => {
  it('one works at a time; the other takes over when it stops, and when it is killed', async () => {
    await using the = await world(plane)
    await using first = start(the, 'first', 'elect')
    await the.create('a')
    await eventually(() => expect(first.lines).toContain('create a'))
    await using second = start(the, 'second', 'elect')
    await eventually(() => expect(second.lines).toEqual(['ready']))
    expect(await first.kill('SIGTERM')).toBe(0)
    await the.create('b')
    await eventually(() => expect(second.lines).toEqual(expect.arrayContaining(['resume a', 'create b'])))
    await using third = start(the, 'third', 'elect')
    await eventually(() => expect(third.lines).toEqual(['ready']))
    await second.kill('SIGKILL')
    await the.create('c')
    await eventually(() => expect(third.lines).toContain('create c'), 30_000)
    expect(first.lines.includes('create b') || third.lines.includes('create b')).toBe(false)
  })
})

describe('stopping', () => {
  // RUNTIME-32
  it('lets a handler that heeds its signal end, and sends what it had recorded', async () => {
    await using the = await world(plane)
    const widgets = controller(Widget, { name: 'heeding', ...IN_ANNOTATIONS })
    let began = false
    widgets.reconcile(async ({ signal, patch }) => {
      began = true
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      patch.status({ phase: 'parked' })
    })
    const one = await the.run([widgets])
    await the.create('one')
    await eventually(() => expect(began).toBe(true))
    await one.stop()
    expect((await the.get('one'))?.status?.phase).toBe('parked')
  })

  // RUNTIME-32
  it('abandons a handler that does not, says so, and writes nothing of it any more', async () => {
    await using the = await world(plane)
    const log = memoryLog()
    const widgets = controller(Widget, { name: 'deaf', ...IN_ANNOTATIONS })
    const release = Promise.withResolvers<void>()
    let began = false
    widgets.reconcile(async ({ patch }) => {
      began = true
      await release.promise
      patch.status({ phase: 'late' })
    })
    const one = await the.run([widgets], { log })
    await the.create('one')
    await eventually(() => expect(began).toBe(true))
    await one.stop()
    expect(log.lines).toEqual(['warn handlers did not end within 900 ms, their requests are cut'])
    release.resolve()
    await the.create('marker')
    expect((await the.get('one'))?.status).toBeUndefined()
  })

  it('works before the caches are filled', async () => {
    await using the = await world(plane)
    const proxy = await plane.proxy()
    proxy.decide(() => new Promise(() => {}))
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const widgets = controller(Widget, { name: 'early', ...IN_ANNOTATIONS })
    widgets.reconcile(() => {})
    const one = operator({ controllers: [widgets], transport, namespaces: [the.namespace], log: silent })
    const running = one.start()
    await eventually(() => expect(proxy.requests().length).toBeGreaterThan(0))
    await one.stop()
    await running
    expect(one.status().synced).toBe(false)
    await transport.close()
    await proxy.stop()
  })
})
