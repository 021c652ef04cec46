import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { controller, loadTransport, type OperatorOptions, operator } from '#operator/index.ts'
import { runtimeMetrics } from '#operator/metrics.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { ConfigMap, eventually, IN_ANNOTATIONS, memoryLog, Widget, world } from './world.ts'

const plane = await sharedControlPlane()

describe('a mistake in a program stays where it was made', () => {
  // RUNTIME-39
  it('a filter, a mapping and an event handler that throw are told, and the others go on', async () => {
    await using the = await world(plane)
    const log = memoryLog()
    const calls: string[] = []
    const wrong = controller(Widget, { name: 'wrong', ...IN_ANNOTATIONS })
    wrong.on.event('see', ({ type }) => {
      throw new Error(`event ${type}`)
    })
    wrong.reconcile(() => {}, {
      when: () => {
        throw new Error('filter')
      },
    })
    wrong.watches(ConfigMap, () => {
      throw new Error('mapping')
    })
    const right = controller(Widget, { name: 'right', ...IN_ANNOTATIONS })
    right.reconcile(({ name }) => void calls.push(name))
    right.watches(ConfigMap, ({ metadata }) => (metadata.name === 'part' ? [{ name: 'one' }] : []))
    await the.run([wrong, right], { log })
    await the.create('one')
    await eventually(() => expect(calls).toEqual(['one']))
    await the.api.create(ConfigMap, { metadata: { name: 'part', namespace: the.namespace } })
    await eventually(() => expect(calls).toEqual(['one', 'one']))
    await the.remove('one')
    await eventually(() => expect(log.lines).toContain('warn handler failed, the error is ignored: event deleted'))
    expect(log.lines).toEqual(
      expect.arrayContaining([
        'warn handler failed, the error is ignored: event added',
        'error the changes of handlers could not be written, retrying: filter',
        'error the map function of a watched kind threw, this event wakes no object',
      ]),
    )
  })
})

describe('a request that fails in the middle', () => {
  it('whose answer is lost is made again, and what it had done is not done twice', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const lost = new Set<string>()
    proxy.decide(({ method, path }) => {
      if (method !== 'PATCH' || lost.has(path)) return 'pass'
      lost.add(path)
      return 'lose'
    })
    const widgets = controller(Widget, { name: 'lossy', ...IN_ANNOTATIONS })
    widgets.on.create('make', ({ patch }) => {
      patch.status({ phase: 'made' })
      patch.edit((draft) => {
        draft.metadata.finalizers = [...new Set([...(draft.metadata.finalizers ?? []), 'test.muster.dev/extra'])]
      })
    })
    widgets.on.delete('unmake', ({ patch }) =>
      patch.edit((draft) => {
        draft.metadata.finalizers = draft.metadata.finalizers?.filter((one) => one !== 'test.muster.dev/extra') ?? []
      }),
    )
    await the.run([widgets], { transport, settings: { queueing: { errorDelays: ['10ms'] } } })
    await the.create('one')
    await eventually(async () => {
      const one = await the.get('one')
      expect(one?.status).toEqual({ phase: 'made' })
      expect(one?.metadata.annotations).toHaveProperty(['muster.dev/lossy.handled'])
      expect(one?.metadata.finalizers).toEqual(['muster.dev/lossy', 'test.muster.dev/extra'])
    })
    expect(lost.size).toBe(2)
    await the.remove('one')
    await eventually(async () => expect(await the.get('one')).toBeUndefined())
    await transport.close()
  })

  it('of the finalizer, because the object is being deleted just then, leaves the object in peace', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const log = memoryLog()
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'late', ...IN_ANNOTATIONS })
    widgets.on.create('make', () => void calls.push('create'))
    widgets.on.delete('unmake', () => void calls.push('delete'))
    let deleted = false
    proxy.decide(async ({ method }): Promise<'pass'> => {
      if (method === 'PATCH' && !deleted) {
        deleted = true
        await the.remove('one')
      }
      return 'pass'
    })
    await the.run([widgets], { transport, log })
    await the.create('one', {}, { finalizers: ['test.muster.dev/other'] })
    await eventually(() => expect(deleted).toBe(true))
    await the.create('marker')
    await eventually(() => expect(calls).toEqual(['create']))
    expect((await the.get('one'))?.metadata.finalizers).toEqual(['test.muster.dev/other'])
    expect(log.lines).toEqual([])
    await the.change('one', { metadata: { finalizers: null } })
    await the.remove('marker')
    await eventually(() => expect(calls).toEqual(['create', 'delete']))
    await transport.close()
  })
})

describe('one operator', () => {
  // RUNTIME-36
  it('watches a kind once for all its controllers, and counts for each', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const registry = new Registry()
    const [left, right] = ['left', 'right'].map((name) => controller(Widget, { name, ...IN_ANNOTATIONS }))
    if (left === undefined || right === undefined) throw new Error('two were made')
    let calls = 0
    left.reconcile(() => {
      calls += 1
    })
    right.reconcile(() => {
      calls += 1
      throw new Error('broken')
    })
    await the.create('one')
    await the.run([left, right], { transport, metrics: runtimeMetrics(registry) })
    await eventually(() => expect(calls).toBe(2))
    await eventually(async () => {
      const text = await registry.metrics()
      expect(text).toContain('controller_runtime_reconcile_total{controller="left",result="success"} 1')
      expect(text).toContain('controller_runtime_reconcile_errors_total{controller="right"} 1')
      expect(text).toContain('workqueue_depth{name="left"} 0')
    })
    expect(proxy.requests().filter(({ path }) => path.includes('widgets'))).toHaveLength(1)
    await transport.close()
  })

  it('RUNTIME-50: ready settles also when the operator cannot start, and when it is stopped before it is ready', async () => {
    await using the = await world(plane)
    const build = (options: Partial<OperatorOptions>) =>
      operator({
        controllers: [controller(Widget, { name: 'unready' })],
        transport: the.transport,
        namespaces: [the.namespace],
        log: memoryLog(),
        ...options,
      })
    const broken = build({ onStartup: () => Promise.reject(new Error('no database')) })
    await expect(broken.start()).rejects.toThrow('no database')
    expect(await broken.ready).toBe(false)
    const stopped = build({})
    const running = stopped.start(AbortSignal.abort(new Error('not today')))
    expect(await stopped.ready).toBe(false)
    await running
  })
})
