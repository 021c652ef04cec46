import { describe, expect, it } from 'vitest'
import { loadTransport } from '#operator/client/transport.ts'
import { controller } from '#operator/index.ts'
import { manualClock, sharedControlPlane } from '#test/harness/index.ts'
import { eventually, IN_ANNOTATIONS, Widget, world } from './world.ts'

const plane = await sharedControlPlane()

describe('a timer', () => {
  // RUNTIME-28
  it('calls at once and then every interval, until its filter no longer matches', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'timer', ...IN_ANNOTATIONS })
    widgets.timer('tick', { every: '1m', labels: { timed: 'yes' } }, ({ clock: time }) => {
      calls.push(time.now().toISOString().slice(11, 19))
    })
    await the.run([widgets], { clock })
    await the.create('one', {}, { labels: { timed: 'yes' } })
    await eventually(() => expect(calls).toEqual(['00:00:00']))
    await eventually(() => expect(clock.sleepers()).toBeGreaterThan(0))
    await clock.advance('2m')
    expect(calls).toEqual(['00:00:00', '00:01:00', '00:02:00'])

    await the.change('one', { metadata: { labels: { timed: 'no' } } })
    await the.create('two')
    await eventually(async () => {
      await clock.advance('1m')
      const before = calls.length
      await clock.advance('10m')
      expect(calls).toHaveLength(before)
    })
  })

  // RUNTIME-28
  it('keeps its beat, as a reconcile that waits does, when the clock of the machine is set back', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'set-back', ...IN_ANNOTATIONS })
    widgets.timer('tick', { every: '1m' }, () => void calls.push('timer'))
    widgets.reconcile(() => {
      calls.push('reconcile')
      return { requeueAfter: '1m' }
    })
    await the.run([widgets], { clock })
    await the.create('one')
    await eventually(() => expect(calls).toEqual(['reconcile', 'timer']))
    await eventually(() => expect(clock.sleepers()).toBeGreaterThan(0))
    clock.set(-3_600_000)
    await clock.advance('1m')
    expect(calls).toEqual(['reconcile', 'timer', 'reconcile', 'timer'])
  })

  it('is called again when what it recorded could not be sent, and not only after its interval', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const clock = manualClock()
    let refusals = 1
    proxy.decide(({ method }) => (method === 'PATCH' && refusals-- > 0 ? { status: 500 } : 'pass'))
    const widgets = controller(Widget, { name: 'unsent', ...IN_ANNOTATIONS })
    widgets.timer('tick', { every: '24h' }, ({ patch }) => patch.status({ seen: 1 }))
    await the.run([widgets], { clock, transport })
    await the.create('one')
    await eventually(async () => {
      await clock.advance('1s')
      expect((await the.get('one'))?.status?.seen).toBe(1)
    })
    await transport.close()
  })

  it('with idle waits until the declared state has been quiet, and its own writes are no noise', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'idle', ...IN_ANNOTATIONS })
    widgets.timer('tick', { every: '1m', idle: '10m' }, ({ clock: time, patch }) => {
      calls.push(time.now().toISOString().slice(11, 16))
      patch.status({ seen: calls.length })
    })
    let size = 0
    widgets.on.event('see', ({ spec }) => {
      size = spec.size
    })
    await the.run([widgets], { clock })
    await the.create('one')
    await eventually(() => expect(clock.sleepers()).toBeGreaterThan(0))
    await clock.advance('9m')
    expect(calls).toEqual([])
    await the.change('one', { spec: { size: 2 } })
    await eventually(() => expect(size).toBe(2))
    await clock.advance('10m')
    await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(1))
    await eventually(() => expect(clock.sleepers()).toBeGreaterThan(0))
    await clock.advance('1m')
    await eventually(() => expect(calls).toEqual(['00:19', '00:20']))
  })

  it('tries again after its backoff, and goes on at its own pace when it has given up', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'broken', ...IN_ANNOTATIONS })
    widgets.timer('tick', { every: '1h', backoff: '1m', retries: 2 }, ({ clock: time, retry }) => {
      calls.push(`${time.now().toISOString().slice(11, 16)} ${retry.count}`)
      throw new Error('broken')
    })
    await the.run([widgets], { clock })
    await the.create('one')
    await eventually(() => expect(calls).toEqual(['00:00 0']))
    await eventually(() => expect(clock.sleepers()).toBeGreaterThan(0))
    await clock.advance('62m')
    expect(calls).toEqual(['00:00 0', '00:01 1', '01:01 0', '01:02 1'])
  })
})
