import { describe, expect, it } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { loadTransport } from '#operator/client/transport.ts'
import { controller, PermanentError } from '#operator/index.ts'
import { manualClock, sharedControlPlane } from '#test/harness/index.ts'
import { ConfigMap, eventually, IN_ANNOTATIONS, Widget, world } from './world.ts'

const plane = await sharedControlPlane()

describe('reconcile', () => {
  // RUNTIME-1
  it('goes step by step over its own status, then rests and asks nothing', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const phases: (string | undefined)[] = []
    const widgets = controller(Widget, { name: 'steps', ...IN_ANNOTATIONS })
    widgets.reconcile(({ status, patch }) => {
      phases.push(status?.phase)
      patch.status({ phase: { none: 'started', started: 'done', done: 'done' }[status?.phase ?? 'none'] ?? 'done' })
    })
    await the.run([widgets], { transport })
    await the.create('one')
    await eventually(() => expect(phases).toEqual([undefined, 'started', 'done']))
    const writes = proxy.requests().filter(({ method }) => method !== 'GET')
    expect(writes.map(({ method, path }) => `${method} ${path.split('/').slice(-2).join('/')}`)).toEqual([
      'PATCH one/status',
      'PATCH one/status',
    ])
    await transport.close()
  })

  it('comes back after the time it asked for', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    let calls = 0
    const widgets = controller(Widget, { name: 'requeue', ...IN_ANNOTATIONS })
    widgets.reconcile(() => {
      calls += 1
      return { requeueAfter: '1m' }
    })
    await the.run([widgets], { clock })
    await the.create('one')
    await eventually(() => expect(calls).toBe(1))
    await eventually(() => expect(clock.sleepers()).toBeGreaterThan(0))
    await clock.advance('59s')
    expect(calls).toBe(1)
    await clock.advance('1s')
    await eventually(() => expect(calls).toBe(2))
  })

  it('is called for an object that something outside of Kubernetes wakes, which runs until the operator stops', async () => {
    await using the = await world(plane)
    let calls = 0
    let ended = false
    const ring = Promise.withResolvers<() => void>()
    const widgets = controller(Widget, { name: 'outside', ...IN_ANNOTATIONS })
    widgets.reconcile(() => {
      calls += 1
    })
    widgets.source('bell', async ({ wake, signal }) => {
      wake({ name: 'never-there', namespace: the.namespace })
      ring.resolve(() => wake({ name: 'one', namespace: the.namespace }))
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      ended = true
    })
    const running = await the.run([widgets])
    await the.create('one')
    await eventually(() => expect(calls).toBe(1))
    const wake = await ring.promise
    wake()
    await eventually(() => expect(calls).toBe(2))
    await running.stop()
    expect(ended).toBe(true)
  })

  // RUNTIME-73
  it('tells a source of what is there, then of every change before a handler is called for it, and of no kind that it does not watch', async () => {
    await using the = await world(plane)
    await the.create('first', { size: 1 })
    const told: string[] = []
    const refused = Promise.withResolvers<unknown>()
    const widgets = controller(Widget, { name: 'followed', ...IN_ANNOTATIONS })
    widgets.watches(ConfigMap, () => [])
    widgets.reconcile(({ name, spec }) => void told.push(`reconcile ${name} ${spec.size}`))
    widgets.on.delete('unmake', () => {}, { optional: true })
    widgets.source('all', async ({ follow, signal }) => {
      follow(Widget, {
        seen: ({ metadata, spec }) => void told.push(`seen ${metadata.name} ${spec.size}`),
        deleted: ({ metadata }) => void told.push(`deleted ${metadata.name}`),
        watchProblem: () => {},
      })
      follow(ConfigMap, {
        seen: ({ metadata }) => void (metadata.name === 'part' && told.push('seen part')),
        deleted: () => {},
        watchProblem: () => {},
      })
      try {
        follow({ ...Widget, plural: 'others', kind: 'Other' }, { seen() {}, deleted() {}, watchProblem() {} })
      } catch (error) {
        refused.resolve(error)
      }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    const running = await the.run([widgets])
    expect(await refused.promise).toEqual(
      new TypeError("the controller followed doesn't watch Other: call watches for it"),
    )
    await the.create('second', { size: 2 })
    await the.api.create(ConfigMap, { metadata: { name: 'part', namespace: the.namespace } })
    await eventually(() => expect(told).toContain('reconcile second 2'))
    await eventually(() => expect(told).toContain('seen part'))
    await the.remove('second')
    await eventually(() => expect(told).toContain('deleted second'))
    expect(told.indexOf('seen first 1')).toBeLessThan(told.indexOf('reconcile first 1'))
    expect(told.indexOf('seen second 2')).toBeLessThan(told.indexOf('reconcile second 2'))
    await running.stop()
    const before = told.length
    await the.create('third', { size: 3 })
    expect(told).toHaveLength(before)
  })

  // RUNTIME-9
  it('begins anew with what wakes it from outside when that breaks off', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    let begun = 0
    const widgets = controller(Widget, { name: 'outside-broken', ...IN_ANNOTATIONS })
    widgets.source('bell', () => {
      begun += 1
      throw new Error('no')
    })
    await the.run([widgets], { clock })
    await eventually(() => expect(begun).toBe(1))
    await eventually(() => expect(clock.sleepers()).toBeGreaterThan(0))
    await clock.advance('1s')
    expect(begun).toBe(2)
  })

  // RUNTIME-6
  it('keeps its backoff although it writes its failure to the status', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    let calls = 0
    const widgets = controller(Widget, { name: 'failing', ...IN_ANNOTATIONS })
    widgets.reconcile(
      ({ patch }) => {
        calls += 1
        patch.status({ seen: calls })
        throw new Error('no')
      },
      { backoff: '10s' },
    )
    await the.run([widgets], { clock })
    await the.create('one')
    await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(1))
    await clock.advance('9s')
    expect(calls).toBe(1)
    await eventually(async () => {
      await clock.advance('1s')
      expect((await the.get('one'))?.status?.seen).toBe(2)
    })
  })

  // RUNTIME-7
  it('is called during its backoff by an object of another kind, and its failures go on counting', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const calls: number[] = []
    const widgets = controller(Widget, { name: 'patient', ...IN_ANNOTATIONS })
    widgets.reconcile(
      ({ retry }) => {
        calls.push(retry.count)
        throw new Error('not yet')
      },
      { backoff: { initial: '10s', factor: 2, max: '1h' } },
    )
    widgets.watches(ConfigMap, ({ metadata }) => (metadata.name === 'part' ? [{ name: 'one' }] : []))
    await the.run([widgets], { clock, random: () => 0.5 })
    await the.create('one')
    await eventually(() => expect(calls).toEqual([0]))
    const part = { name: 'part', namespace: the.namespace }
    await the.api.create(ConfigMap, { metadata: part })
    await eventually(() => expect(calls).toEqual([0, 1]))
    // Not the 10 s that were left of the first failure, but the 20 s of the second.
    await clock.advance('19s')
    expect(calls).toEqual([0, 1])
    await eventually(async () => {
      await clock.advance('1s')
      expect(calls).toEqual([0, 1, 2])
    })
  })

  // RUNTIME-5
  it('gives up after a permanent error until something changes', async () => {
    await using the = await world(plane)
    const sizes: number[] = []
    const widgets = controller(Widget, { name: 'permanent', ...IN_ANNOTATIONS })
    widgets.reconcile(({ spec, patch }) => {
      sizes.push(spec.size)
      patch.status({ seen: sizes.length })
      throw new PermanentError('never')
    })
    await the.run([widgets])
    await the.create('one', { size: 1 })
    await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(1))
    await the.change('one', { spec: { size: 2 } })
    await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(2))
    expect(sizes).toEqual([1, 2])
  })

  it('sees a change that came while it gave up, although its own write changed nothing and was answered with that', async () => {
    await using the = await world(plane)
    const calls: number[] = []
    const withoutStatus = (widget: Widget): Widget => {
      const { status: _, ...rest } = widget
      return rest
    }
    const widgets = controller(Widget, { name: 'overtaken', ...IN_ANNOTATIONS, transform: withoutStatus })
    widgets.reconcile(async ({ spec, name, patch }) => {
      calls.push(spec.size)
      patch.status({ phase: 'bad' })
      if (calls.length === 2) await the.change(name, { spec: { size: 2 } })
      if (calls.length > 1) throw new PermanentError('a bad size')
    })
    await the.run([widgets])
    await the.create('one')
    await eventually(async () => expect((await the.get('one'))?.status?.phase).toBe('bad'))
    await eventually(() => expect(calls.slice(0, 3)).toEqual([1, 1, 2]))
  })

  // RUNTIME-8
  it('is woken by an object of another kind, the old owner as well as the new one', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'woken', ...IN_ANNOTATIONS })
    widgets.reconcile(({ name }) => void calls.push(name))
    widgets.watches(ConfigMap, ({ metadata }) => {
      const owner = metadata.labels?.widget
      return owner === undefined ? [] : [{ name: owner }]
    })
    await the.create('one')
    await the.create('two')
    await the.run([widgets])
    await eventually(() => expect(calls.toSorted()).toEqual(['one', 'two']))
    calls.length = 0
    const metadata = { name: 'part', namespace: the.namespace }
    await the.api.create(ConfigMap, { metadata: { ...metadata, labels: { widget: 'one' } } })
    await eventually(() => expect(calls).toEqual(['one']))
    await the.api.patch(ConfigMap, { ...metadata, type: 'merge', body: { metadata: { labels: { widget: 'two' } } } })
    await eventually(() => expect(calls.toSorted()).toEqual(['one', 'one', 'two']))
    await the.api.delete(ConfigMap, 'part', the.namespace)
    await eventually(() => expect(calls.toSorted()).toEqual(['one', 'one', 'two', 'two']))
  })

  // RUNTIME-10
  it('finds indexes filled before its first call', async () => {
    await using the = await world(plane)
    for (const name of ['a', 'b', 'c']) await the.create(name, { color: name === 'c' ? 'blue' : 'red' })
    const widgets = controller(Widget, { name: 'indexed', ...IN_ANNOTATIONS })
    const byColor = widgets.index('color', ({ spec, metadata }) => [[spec.color, metadata.name]])
    const seen: string[] = []
    widgets.reconcile(({ spec }) => void seen.push(byColor.get(spec.color).toSorted().join()))
    await the.run([widgets])
    await eventually(() => expect(seen.toSorted()).toEqual(['a,b', 'a,b', 'c']))
    await the.change('b', { spec: { color: 'blue' } })
    await eventually(() => expect(seen.at(-1)).toBe('b,c'))
    expect(new Set(byColor.keys())).toEqual(new Set(['blue', 'red']))
  })

  it('finds the objects of another kind by an index, in other namespaces too when it watches everywhere', async () => {
    await using the = await world(plane)
    const elsewhere = await plane.namespace('elsewhere')
    const seen: string[] = []
    const widgets = controller(Widget, { name: 'everywhere', ...IN_ANNOTATIONS })
    const parts = widgets.watches(
      ConfigMap,
      ({ metadata }) => (metadata.labels?.of === 'one' ? [{ name: 'one', namespace: the.namespace }] : []),
      { everywhere: true, labelSelector: `in=${the.namespace}` },
    )
    const byOwner = parts.index('owner', (part) => [[part.metadata.labels?.of, part.metadata.namespace]])
    widgets.reconcile(({ name }) => void seen.push(byOwner.get(name).join()))
    await the.run([widgets])
    await the.create('one')
    await eventually(() => expect(seen).toEqual(['']))
    const labels = { of: 'one', in: the.namespace }
    await the.api.create(ConfigMap, { metadata: { name: 'part', namespace: elsewhere, labels } })
    await eventually(() => expect(seen.at(-1)).toBe(elsewhere))
  })

  // RUNTIME-27
  it('is not called for an object in deletion when a delete handler has the word, and is when there is none', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    const deleting = (controllerName: string, object: Widget) =>
      object.metadata.deletionTimestamp === undefined ? [] : calls.push(controllerName)
    const yielding = controller(Widget, { name: 'yielding', ...IN_ANNOTATIONS })
    yielding.reconcile(({ object }) => void deleting('yielding', object))
    yielding.on.delete('clean', ({ status }) => (status?.phase === 'clean' ? undefined : { requeueAfter: '1h' }))
    const watching = controller(Widget, { name: 'watching', ...IN_ANNOTATIONS })
    watching.reconcile(({ object }) => void deleting('watching', object))
    await the.run([yielding, watching])
    await the.create('one')
    await eventually(async () => expect((await the.get('one'))?.metadata.finalizers).toHaveLength(1))
    await the.remove('one')
    await eventually(() => expect(calls).not.toHaveLength(0))
    await createApi(the.transport).patch(Widget, {
      name: 'one',
      namespace: the.namespace,
      subresource: 'status',
      type: 'merge',
      body: { status: { phase: 'clean' } },
    })
    await eventually(async () => expect(await the.get('one')).toBeUndefined())
    expect(new Set(calls)).toEqual(new Set(['watching']))
  })
})
