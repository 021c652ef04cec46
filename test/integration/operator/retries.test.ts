import { describe, expect, it } from 'vitest'
import { controller, PermanentError, TemporaryError } from '#operator/index.ts'
import { manualClock, sharedControlPlane } from '#test/harness/index.ts'
import { eventually, IN_ANNOTATIONS, memoryLog, Widget, world } from './world.ts'

const plane = await sharedControlPlane()
const HANDLED = 'muster.dev/retries.handled'
const PROGRESS = 'muster.dev/retries.progress'

describe('a handler that fails', () => {
  // RUNTIME-12
  it('is called again after its backoff, and those that succeeded are not', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'retries', ...IN_ANNOTATIONS })
    widgets.on.create('steady', () => void calls.push('steady'))
    widgets.on.create(
      'shaky',
      ({ retry }) => {
        calls.push(`shaky ${retry.count}`)
        if (retry.count < 2) throw new Error('not yet')
      },
      { backoff: '10s' },
    )
    await the.run([widgets], { clock })
    await the.create('one')
    const progress = await eventually(async () => {
      const text = (await the.get('one'))?.metadata.annotations?.[PROGRESS]
      expect(text).toBeDefined()
      return JSON.parse(text ?? '')
    })
    expect(progress.handlers).toEqual({
      steady: { startedAt: '2026-01-01T00:00:00.000Z', failures: 0, finished: 'success' },
      shaky: {
        startedAt: '2026-01-01T00:00:00.000Z',
        failures: 1,
        delayedUntil: '2026-01-01T00:00:10.000Z',
        message: 'not yet',
      },
    })
    await eventually(async () => {
      await clock.advance('1s')
      expect((await the.get('one'))?.metadata.annotations).toHaveProperty([HANDLED])
    })
    expect(calls).toEqual(['steady', 'shaky 0', 'shaky 1', 'shaky 2'])
    expect((await the.get('one'))?.metadata.annotations).not.toHaveProperty([PROGRESS])
  })

  // RUNTIME-12
  it('goes on where it was when another process takes over', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    const build = () => {
      const widgets = controller(Widget, { name: 'retries', ...IN_ANNOTATIONS })
      widgets.on.create('steady', () => void calls.push('steady'))
      widgets.on.create(
        'shaky',
        ({ retry }) => {
          calls.push(`shaky ${retry.count}`)
          if (retry.count < 1) throw new TemporaryError('not yet', { delay: '10s' })
        },
        {},
      )
      return widgets
    }
    const first = await the.run([build()], { clock: manualClock() })
    await the.create('one')
    await eventually(async () => expect((await the.get('one'))?.metadata.annotations).toHaveProperty([PROGRESS]))
    await first.stop()
    await the.run([build()], { clock: manualClock('2026-01-01T00:01:00Z') })
    await eventually(async () => expect((await the.get('one'))?.metadata.annotations).toHaveProperty([HANDLED]))
    expect(calls).toEqual(['steady', 'shaky 0', 'shaky 1'])
  })

  // RUNTIME-4
  it('is given up when the next try would break a limit, not after it', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const log = memoryLog()
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'retries', ...IN_ANNOTATIONS })
    const failing = (id: string) => () => {
      calls.push(id)
      throw new Error(`${id} is not there`)
    }
    widgets.on.create('few', failing('few'), { retries: 2, backoff: '1s' })
    widgets.on.create('short', failing('short'), { timeout: '5s', backoff: '10s' })
    widgets.on.create('final', () => {
      calls.push('final')
      throw new PermanentError('never', { reason: 'Impossible' })
    })
    widgets.on.create('mild', failing('mild'), { errors: 'ignored' })
    await the.run([widgets], { clock, log })
    await the.create('one')
    await eventually(async () => {
      await clock.advance('1s')
      expect((await the.get('one'))?.metadata.annotations).toHaveProperty([HANDLED])
    })
    expect(calls).toEqual(['few', 'short', 'final', 'mild', 'few'])
    expect(log.lines).toEqual([
      'warn handler failed, retrying: few is not there',
      'error handler failed, not retried: gave up after 0 s, the next try would be too late: short is not there',
      'error handler failed, not retried: never',
      'warn handler failed, the error is ignored: mild is not there',
      'error handler failed, not retried: gave up after 2 tries: few is not there',
    ])
  })

  // RUNTIME-14
  it('is called at once when the object is corrected during its backoff', async () => {
    await using the = await world(plane)
    const widgets = controller(Widget, { name: 'retries', ...IN_ANNOTATIONS })
    const calls: number[] = []
    widgets.on.create(
      'make',
      ({ spec }) => {
        calls.push(spec.size)
        if (spec.size === 0) throw new Error('size 0')
      },
      { backoff: '1h' },
    )
    widgets.on.update('change', ({ spec }) => void calls.push(-spec.size))
    await the.run([widgets])
    await the.create('one', { size: 0 })
    await eventually(async () => expect((await the.get('one'))?.metadata.annotations).toHaveProperty([PROGRESS]))
    await the.change('one', { spec: { size: 7 } })
    // The creation ends with what is true now; what changed since it began is an update of its own.
    await eventually(() => expect(calls).toEqual([0, 7, -7]))
  })

  // RUNTIME-13
  it('a change in the middle of a cycle is seen by the handlers that had finished, even when it is undone', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const seen: number[] = []
    const widgets = controller(Widget, { name: 'retries', ...IN_ANNOTATIONS })
    let broken = false
    widgets.on.create('made', () => {})
    widgets.on.update('follow', ({ spec }) => void seen.push(spec.size))
    widgets.on.update(
      'shaky',
      () => {
        if (broken) throw new Error('broken')
      },
      { backoff: '10s' },
    )
    await the.run([widgets], { clock })
    await the.create('one', { size: 1 })
    await eventually(async () => expect((await the.get('one'))?.metadata.annotations).toHaveProperty([HANDLED]))
    broken = true
    await the.change('one', { spec: { size: 2 } })
    await eventually(() => expect(seen).toEqual([2]))
    await the.change('one', { spec: { size: 1 } })
    broken = false
    await eventually(async () => {
      await clock.advance('1s')
      expect(seen).toEqual([2, 1])
    })
  })

  // RUNTIME-3
  it('waiting is no failure: it is not counted, and ends early when something happens', async () => {
    await using the = await world(plane)
    const calls: number[] = []
    const widgets = controller(Widget, { name: 'retries', ...IN_ANNOTATIONS })
    widgets.on.create(
      'wait',
      ({ status, retry }) => {
        calls.push(retry.count)
        return status?.phase === 'go' ? undefined : { requeueAfter: '1h' }
      },
      { retries: 1 },
    )
    await the.run([widgets])
    await the.create('one')
    await eventually(async () => expect((await the.get('one'))?.metadata.annotations).toHaveProperty([PROGRESS]))
    await the.api.patch(Widget, {
      name: 'one',
      namespace: the.namespace,
      subresource: 'status',
      type: 'merge',
      body: { status: { phase: 'go' } },
    })
    await eventually(async () => expect((await the.get('one'))?.metadata.annotations).toHaveProperty([HANDLED]))
    expect(calls).toEqual([0, 0])
  })
})

describe('a failure for good', () => {
  // RUNTIME-5
  it('is told in an event about the object, and so is what handlers say themselves', async () => {
    await using the = await world(plane)
    const widgets = controller(Widget, { name: 'telling', ...IN_ANNOTATIONS })
    widgets.on.create('make', ({ events }) => {
      events.normal('Making', 'on it')
      throw new PermanentError('no such size', { reason: 'NoSuchSize' })
    })
    await the.run([widgets])
    await the.create('one')
    await eventually(async () => {
      const path = `/apis/events.k8s.io/v1/namespaces/${the.namespace}/events`
      const { items } = await plane.rest<{ items: { type: string; reason: string; note: string }[] }>('GET', path)
      expect(items.map(({ type, reason, note }) => `${type} ${reason} ${note}`).toSorted()).toEqual([
        'Normal Making on it',
        'Warning NoSuchSize make: no such size',
      ])
    })
  })
})
