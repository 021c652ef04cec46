import { describe, expect, it } from 'vitest'
import { controller } from '#operator/index.ts'
import { manualClock, sharedControlPlane } from '#test/harness/index.ts'
import { eventually, IN_ANNOTATIONS, Widget, world } from './world.ts'

const plane = await sharedControlPlane()

const ended = (signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => {
    const end = () => resolve(String((signal.reason as Error).message))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })

describe('a daemon', () => {
  // RUNTIME-29
  it('runs for each object until the object is deleted, filtered out, or the operator stops, and adds no finalizer', async () => {
    await using the = await world(plane)
    const log: string[] = []
    const widgets = controller(Widget, { name: 'daemons', ...IN_ANNOTATIONS })
    widgets.daemon(
      'live',
      async ({ name, signal }) => {
        log.push(`${name} starts`)
        log.push(`${name} ends: ${await ended(signal)}`)
      },
      { labels: { live: 'yes' } },
    )
    const one = await the.run([widgets])
    for (const name of ['deleted', 'filtered', 'stopped']) await the.create(name, {}, { labels: { live: 'yes' } })
    await eventually(() => expect(log).toHaveLength(3))
    expect((await the.get('deleted'))?.metadata.finalizers).toBeUndefined()
    await the.remove('deleted')
    await eventually(() => expect(log.at(-1)).toBe('deleted ends: the object is gone'))
    await the.change('filtered', { metadata: { labels: { live: 'no' } } })
    await eventually(() => expect(log.at(-1)).toBe('filtered ends: filtered out'))
    await the.change('filtered', { metadata: { labels: { live: 'yes' } } })
    await eventually(() => expect(log.at(-1)).toBe('filtered starts'))
    await one.stop()
    expect(log.slice(-2).toSorted()).toEqual([
      'filtered ends: the operator is stopping',
      'stopped ends: the operator is stopping',
    ])
  })

  it('sees the object as it is now, and sends its status when it says so', async () => {
    await using the = await world(plane)
    const widgets = controller(Widget, { name: 'live', ...IN_ANNOTATIONS })
    widgets.daemon('syncedStore', async (context) => {
      while (!context.signal.aborted) {
        context.patch.status({ seen: context.spec.size })
        await context.send()
        await context.clock.sleep('50ms', context.signal)
      }
    })
    await the.run([widgets])
    await the.create('one', { size: 1 })
    await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(1))
    await the.change('one', { spec: { size: 2 } })
    await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(2))
  })

  // RUNTIME-29
  it('is called again after an error and its backoff, and not after it returned', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const calls: number[] = []
    const widgets = controller(Widget, { name: 'erring', ...IN_ANNOTATIONS })
    widgets.daemon(
      'run',
      ({ retry }) => {
        calls.push(retry.count)
        if (retry.count < 2) throw new Error('broken')
      },
      { backoff: '10s' },
    )
    await the.run([widgets], { clock })
    await the.create('one')
    await eventually(() => expect(calls).toEqual([0]))
    await clock.advance('9s')
    expect(calls).toEqual([0])
    await clock.advance('20s')
    await eventually(() => expect(calls).toEqual([0, 1, 2]))
    await the.change('one', { spec: { size: 2 } })
    await the.create('marker')
    await eventually(() => expect(calls).toHaveLength(4))
    expect(calls).toEqual([0, 1, 2, 0])
  })

  // RUNTIME-30
  it('with a lease runs in one process at a time and is handed over when that one stops', async () => {
    await using the = await world(plane)
    const log: string[] = []
    const build = (id: string) => {
      const widgets = controller(Widget, { name: 'leased', ...IN_ANNOTATIONS })
      widgets.daemon(
        'live',
        async ({ signal }) => {
          log.push(`${id} starts`)
          await ended(signal)
          log.push(`${id} ends`)
        },
        { lease: ({ metadata }) => ({ name: `leased-${metadata.name}`, namespace: the.namespace }) },
      )
      return widgets
    }
    await the.create('one')
    const first = await the.run([build('first')], { identity: 'first' })
    await eventually(() => expect(log).toEqual(['first starts']))
    await the.run([build('second')], { identity: 'second' })
    await first.stop()
    await eventually(() => expect(log).toEqual(['first starts', 'first ends', 'second starts']))
  })
})
