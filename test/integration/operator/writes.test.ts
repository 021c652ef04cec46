import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { loadTransport } from '#operator/client/transport.ts'
import { controller } from '#operator/index.ts'
import { manualClock, sharedControlPlane } from '#test/harness/index.ts'
import { eventually, IN_ANNOTATIONS, memoryLog, Widget, world } from './world.ts'

const plane = await sharedControlPlane()

describe('what handlers record', () => {
  // RUNTIME-18
  it('is sent once: one write of the finalizer, one of the status, one to let the object go', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const widgets = controller(Widget, { name: 'frugal', ...IN_ANNOTATIONS })
    widgets.reconcile(({ patch, object }) => patch.status({ ready: true, seen: object.metadata.generation ?? 0 }))
    widgets.on.delete('clean', () => {})
    await the.run([widgets], { transport })
    await the.create('one')
    await eventually(async () => expect((await the.get('one'))?.status?.ready).toBe(true))
    await the.remove('one')
    await eventually(async () => expect(await the.get('one')).toBeUndefined())
    const writes = proxy.requests().filter(({ method }) => method !== 'GET')
    expect(writes.map(({ path }) => path.split('/').at(-1))).toEqual(['one', 'status', 'one'])
    await transport.close()
  })

  // RUNTIME-18
  it('nothing that is true already is sent', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const calls: number[] = []
    const widgets = controller(Widget, { name: 'still', ...IN_ANNOTATIONS })
    widgets.reconcile(({ spec, patch }) => {
      calls.push(spec.size)
      patch.merge({ spec: { color: 'red' }, metadata: { labels: { gone: null } } })
      patch.status({ phase: 'set' })
      patch.edit((draft) => {
        draft.spec.color = 'red'
      })
    })
    await the.create('one', { color: 'red' })
    await the.api.patch(Widget, {
      name: 'one',
      namespace: the.namespace,
      subresource: 'status',
      type: 'merge',
      body: { status: { phase: 'set' } },
    })
    await the.run([widgets], { transport })
    await eventually(() => expect(calls).toEqual([1]))
    await the.change('one', { spec: { size: 2 } })
    await eventually(() => expect(calls).toEqual([1, 2]))
    expect(proxy.requests().filter(({ method }) => method !== 'GET')).toEqual([])
    await transport.close()
  })

  // RUNTIME-20
  it('an edit of a list is made again on the newer object when another writer was faster', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const widgets = controller(Widget, { name: 'edits', ...IN_ANNOTATIONS })
    widgets.on.create('claim', ({ patch }) =>
      patch.edit((draft) => {
        draft.metadata.finalizers = [...(draft.metadata.finalizers ?? []), 'test.muster.dev/ours']
      }),
    )
    let others = 0
    proxy.decide(async ({ method }): Promise<'pass'> => {
      if (method === 'PATCH' && others < 2) {
        others += 1
        await the.change('one', { metadata: { finalizers: [`test.muster.dev/other-${others}`] } })
      }
      return 'pass'
    })
    await the.run([widgets], { transport })
    await the.create('one')
    await eventually(async () =>
      expect((await the.get('one'))?.metadata.finalizers).toEqual(['test.muster.dev/other-2', 'test.muster.dev/ours']),
    )
    await the.change('one', { metadata: { finalizers: null } })
    await transport.close()
  })

  // RUNTIME-19
  it('is forgotten quietly when the object is gone by then, and never lands on another object of the same name', async () => {
    await using the = await world(plane)
    const log = memoryLog()
    const uids = new Set<string>()
    const widgets = controller(Widget, { name: 'gone', ...IN_ANNOTATIONS })
    widgets.reconcile(async ({ object, name, patch }) => {
      if (!uids.has(object.metadata.uid) && uids.size === 0) {
        uids.add(object.metadata.uid)
        await the.remove(name)
        await the.create(name, { size: 7 })
        patch.merge({ spec: { color: 'wrong' } })
      } else uids.add(object.metadata.uid)
    })
    await the.run([widgets], { log })
    await the.create('one')
    await eventually(() => expect(uids.size).toBe(2))
    expect((await the.get('one'))?.spec).toEqual({ size: 7 })
    expect(log.lines).toEqual([])
  })

  // RUNTIME-19
  it('a status on its way, and what follows it, does not land on the next object of that name', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const log = memoryLog()
    const created: string[] = []
    const widgets = controller(Widget, { name: 'namesake', ...IN_ANNOTATIONS })
    widgets.on.create('note', ({ object, spec, patch }) => {
      created.push(object.metadata.uid)
      if (spec.size !== 1) return
      patch.status({ phase: 'wrong' })
      patch.merge({ spec: { color: 'wrong' } })
    })
    let isReplaced = false
    proxy.decide(async ({ method, path }): Promise<'pass'> => {
      if (method === 'PATCH' && path.endsWith('/status') && !isReplaced) {
        isReplaced = true
        await the.remove('one')
        await the.create('one', { size: 7 })
      }
      return 'pass'
    })
    await the.run([widgets], { transport, log })
    const { metadata: before } = await the.create('one')
    await eventually(async () => expect(created).toEqual([before.uid, (await the.get('one'))?.metadata.uid]))
    const next = await the.get('one')
    expect(next?.spec).toEqual({ size: 7 })
    expect(next?.status).toBeUndefined()
    expect(log.lines).toEqual([])
    await transport.close()
  })

  it('a status is written although another client wrote the object meanwhile', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const log = memoryLog()
    const widgets = controller(Widget, { name: 'overtaken', ...IN_ANNOTATIONS })
    widgets.reconcile(({ spec, patch }) => patch.status({ seen: spec.size }))
    let others = 0
    proxy.decide(async ({ method }): Promise<'pass'> => {
      if (method === 'PATCH' && others < 2) {
        others += 1
        const body = { status: { phase: `other-${others}` } }
        const { namespace } = the
        await the.api.patch(Widget, { name: 'one', namespace, subresource: 'status', type: 'merge', body })
      }
      return 'pass'
    })
    await the.run([widgets], { transport, log })
    await the.create('one')
    await eventually(async () => expect((await the.get('one'))?.status).toEqual({ phase: 'other-2', seen: 1 }))
    expect(log.lines).toEqual([])
    await transport.close()
  })

  it('a daemon that ends because its object is gone writes nothing on the next one of that name', async () => {
    await using the = await world(plane)
    const begun = Promise.withResolvers<void>()
    const replaced = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const widgets = controller(Widget, { name: 'last-words', ...IN_ANNOTATIONS })
    widgets.daemon(
      'speak',
      async ({ signal, patch, send }) => {
        begun.resolve()
        await once(signal, 'abort')
        await replaced.promise
        patch.status({ phase: 'over' })
        await send()
        ended.resolve()
      },
      { when: ({ spec }) => spec.size === 1 },
    )
    await the.run([widgets])
    await the.create('one')
    await begun.promise
    await the.remove('one')
    await the.create('one', { size: 7 })
    replaced.resolve()
    await ended.promise
    expect((await the.get('one'))?.status).toBeUndefined()
  })

  // RUNTIME-23
  it('what the API server refuses is said, and tried again after a delay', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const log = memoryLog()
    const widgets = controller(Widget, { name: 'refused', ...IN_ANNOTATIONS })
    let size = -1
    widgets.reconcile(({ patch }) => patch.merge({ spec: { size } }))
    await the.run([widgets], { log, clock, settings: { queueing: { errorDelays: ['10s'] } } })
    await the.create('one')
    await eventually(() => expect(log.lines).toHaveLength(1))
    expect(log.lines[0]).toContain('should be greater than or equal to 0')
    size = 5
    await eventually(async () => {
      await clock.advance('1s')
      expect((await the.get('one'))?.spec.size).toBe(5)
    })
  })

  // RUNTIME-22
  it('handlers wait until their own last write has come back by the watch', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const calls: (number | undefined)[] = []
    const widgets = controller(Widget, { name: 'consistent', ...IN_ANNOTATIONS })
    widgets.reconcile(({ status, patch }) => {
      calls.push(status?.seen)
      const seen = (status?.seen ?? 0) + 1
      if (seen <= 3) patch.status({ seen })
    })
    await the.run([widgets], { transport })
    await the.create('one')
    await eventually(() => expect(calls.at(-1)).toBe(3))
    expect(calls).toEqual([undefined, 1, 2, 3])
    await transport.close()
  })
})

describe('the finalizer', () => {
  // RUNTIME-24
  it('is there only while a delete handler is for the object', async () => {
    await using the = await world(plane)
    const widgets = controller(Widget, { name: 'needed', ...IN_ANNOTATIONS })
    widgets.on.delete('clean', () => {}, { labels: { precious: 'yes' } })
    await the.run([widgets])
    await the.create('plain')
    await the.create('precious', {}, { labels: { precious: 'yes' } })
    await eventually(async () =>
      expect((await the.get('precious'))?.metadata.finalizers).toEqual(['muster.dev/needed']),
    )
    expect((await the.get('plain'))?.metadata.finalizers).toBeUndefined()
    await the.change('precious', { metadata: { labels: { precious: 'no' } } })
    await eventually(async () => expect((await the.get('precious'))?.metadata.finalizers).toBeUndefined())
  })

  // RUNTIME-76
  it('that the API server refuses is told by an Event about the object, in its words, and no handler is called until it is there', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'refused-finalizer', ...IN_ANNOTATIONS })
    widgets.on.create('make', ({ name }) => void calls.push(name))
    widgets.on.delete('clean', () => {})
    proxy.decide(({ method, path }) => (method === 'PATCH' && path.includes('/widgets/') ? { status: 403 } : 'pass'))
    await the.run([widgets], { transport })
    await the.create('one')
    await eventually(async () => {
      const { items } = await plane.rest<{ items: readonly object[] }>(
        'GET',
        `/apis/events.k8s.io/v1/namespaces/${the.namespace}/events`,
      )
      expect(items).toContainEqual(
        expect.objectContaining({
          type: 'Warning',
          reason: 'FinalizerNotAdded',
          note: expect.stringMatching(/muster\.dev\/refused-finalizer .*request-proxy answers 403/),
          regarding: expect.objectContaining({ kind: 'Widget', name: 'one' }),
        }),
      )
    })
    expect(calls).toEqual([])
    proxy.decide(() => 'pass')
    await eventually(() => expect(calls).toEqual(['one']))
    await transport.close()
  })

  // RUNTIME-25
  it('stays while the delete handler fails, and goes when it gives up', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const calls: number[] = []
    const widgets = controller(Widget, { name: 'failing', ...IN_ANNOTATIONS })
    widgets.on.delete(
      'clean',
      ({ retry }) => {
        calls.push(retry.count)
        throw new Error('in use')
      },
      { retries: 3, backoff: '1m' },
    )
    await the.run([widgets], { clock })
    await the.create('one')
    await eventually(async () => expect((await the.get('one'))?.metadata.finalizers).toHaveLength(1))
    await the.remove('one')
    await eventually(() => expect(calls).toEqual([0]))
    expect(await the.get('one')).toBeDefined()
    await eventually(async () => {
      await clock.advance('10s')
      expect(await the.get('one')).toBeUndefined()
    })
    expect(calls).toEqual([0, 1, 2])
  })

  // RUNTIME-26
  it('an optional delete handler adds none and is called once, when the object is gone', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'optional', ...IN_ANNOTATIONS })
    widgets.on.delete('note', ({ name }) => void calls.push(name), { optional: true })
    await the.run([widgets])
    await the.create('one')
    await the.create('held', {}, { finalizers: ['test.muster.dev/other'] })
    expect((await the.get('one'))?.metadata.finalizers).toBeUndefined()
    await the.remove('one')
    await the.remove('held')
    await eventually(() => expect(calls.toSorted()).toEqual(['held', 'one']))
    await the.change('held', { metadata: { finalizers: null } })
    await the.create('marker')
    await the.remove('marker')
    await eventually(() => expect(calls.at(-1)).toBe('marker'))
    expect(calls).toHaveLength(3)
  })
})
