import { describe, expect, it } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { LEASES } from '#operator/client/lease-record.ts'
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

  it('RUNTIME-48: that has lost its lease writes nothing any more, not even its last status', async () => {
    await using the = await world(plane)
    const writes: string[] = []
    const widgets = controller(Widget, { name: 'losing', ...IN_ANNOTATIONS })
    widgets.daemon(
      'live',
      async ({ signal, patch, send, api, name }) => {
        patch.status({ seen: 1 })
        await send()
        writes.push('first')
        await ended(signal)
        patch.status({ seen: 2 })
        const late = [
          send(),
          api.patch(Widget, { name, namespace: the.namespace, type: 'merge', body: { spec: { size: 9 } } }),
          // What is built on the transport, such as requests in another account's name.
          createApi(api.transport).patch(Widget, {
            name,
            namespace: the.namespace,
            type: 'merge',
            body: { spec: { size: 9 } },
          }),
        ]
        for (const write of await Promise.allSettled(late))
          writes.push(write.status === 'rejected' ? (write.reason as Error).name : 'written')
      },
      { lease: ({ metadata }) => ({ name: `losing-${metadata.name}`, namespace: the.namespace }) },
    )
    await the.create('one')
    await the.run([widgets], { identity: 'first' })
    await eventually(() => expect(writes).toEqual(['first']))
    const body = { spec: { holderIdentity: 'other', renewTime: new Date().toISOString().replace('Z', '000Z') } }
    await the.api.patch(LEASES, { name: 'losing-one', namespace: the.namespace, type: 'merge', body })
    await eventually(() => expect(writes).toEqual(['first', 'LeaseLostError', 'LeaseLostError', 'LeaseLostError']))
    const left = await the.get('one')
    expect([left?.status?.seen, left?.spec.size]).toEqual([1, 1])
  })

  it('RUNTIME-48: that is told to stop has time for its last status, and none afterwards', async () => {
    await using the = await world(plane)
    const after = Promise.withResolvers<unknown>()
    const widgets = controller(Widget, { name: 'stopping', ...IN_ANNOTATIONS })
    widgets.daemon(
      'live',
      async ({ signal, patch, send, api, name, namespace }) => {
        await ended(signal)
        patch.status({ seen: 3 })
        await send()
        setImmediate(() =>
          setImmediate(() => after.resolve(api.get(Widget, name, namespace).catch((error: unknown) => error))),
        )
      },
      { lease: ({ metadata }) => ({ name: `stopping-${metadata.name}`, namespace: the.namespace }) },
    )
    await the.create('one')
    const one = await the.run([widgets])
    await eventually(async () => expect(await the.api.get(LEASES, 'stopping-one', the.namespace)).toBeDefined())
    await one.stop()
    expect((await the.get('one'))?.status?.seen).toBe(3)
    expect(await after.promise).toBeInstanceOf(Error)
  })
})
