import { describe, expect, it } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { loadTransport } from '#operator/client/transport.ts'
import { controller, defineResource } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { repetitions } from '#test/harness/deep.ts'
import { sharedControlPlane, startControlPlane } from '#test/harness/index.ts'
import { ConfigMap, eventually, IN_ANNOTATIONS, memoryLog, Widget, widgetCrd, world } from './world.ts'

const plane = await sharedControlPlane()

/** Counts up in the status whenever the spec's size is ahead of it. */
const follower = (name: string, calls: string[] = []) => {
  const widgets = controller(Widget, { name, ...IN_ANNOTATIONS })
  widgets.reconcile(({ name: widget, spec, patch }) => {
    calls.push(`${widget} ${spec.size}`)
    patch.status({ seen: spec.size })
  })
  return widgets
}

describe('the operator outlives', () => {
  it('a killed API server: what was asked meanwhile is done once it is back', async () => {
    await using own = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
    await using the = await world(own)
    await the.run([follower('survivor')])
    await the.create('one', { size: 1 })
    await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(1))
    await own.kill('kube-apiserver')
    await own.restart('kube-apiserver')
    await eventually(() => the.change('one', { spec: { size: 2 } }))
    await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(2), 60_000)
  })

  it('watches that are cut: nothing is missed and nothing handled twice', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'cut', ...IN_ANNOTATIONS })
    widgets.on.create('make', ({ name }) => void calls.push(`create ${name}`))
    widgets.on.update('change', ({ name, spec }) => void calls.push(`update ${name} ${spec.size}`))
    widgets.on.delete('unmake', ({ name }) => void calls.push(`delete ${name}`), { optional: true })
    const handled = new Set<string>()
    widgets.on.event('see', ({ object: { metadata } }) => {
      if (metadata.annotations?.['muster.dev/cut.handled'] !== undefined) handled.add(metadata.name)
    })
    await the.run([widgets], { transport })
    await the.create('stays')
    await the.create('goes')
    // In the eyes of the operator: an answer that is cut as well would be asked for again.
    await eventually(() => expect([...handled].toSorted()).toEqual(['goes', 'stays']))
    calls.length = 0
    proxy.decide(({ path }) => (path.includes('watch=true') ? 'drop' : 'pass'))
    proxy.cut()
    await the.change('stays', { spec: { size: 2 } })
    await the.remove('goes')
    await the.create('new')
    proxy.decide(() => 'pass')
    const missed = ['create new', 'delete goes', 'update stays 2']
    await eventually(() => expect(calls).toEqual(expect.arrayContaining(missed)))
    // What was handled twice would have been by now.
    await the.create('last')
    await eventually(() => expect(calls).toContain('create last'))
    expect(calls.toSorted()).toEqual(['create last', ...missed])
    await transport.close()
  })

  it('a history that is too old (410): it lists again and finds what it missed', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const calls: string[] = []
    await the.run([follower('expired', calls)], { transport })
    await the.create('one', { size: 1 })
    await the.create('goes', { size: 1 })
    await eventually(() => expect(calls.toSorted()).toEqual(['goes 1', 'goes 1', 'one 1', 'one 1']))
    // What is told last does not change any more, so that the watch would go on from there.
    await the.create('same', { size: 1 })
    await eventually(() => expect(calls.slice(4)).toEqual(['same 1', 'same 1']))
    let expired = 0
    proxy.decide(({ path }) => {
      if (!path.includes('watch=true') || !path.includes('resourceVersion=')) return 'pass'
      expired += 1
      return { status: 410 }
    })
    proxy.cut()
    await the.change('one', { spec: { size: 2 } })
    await the.remove('goes')
    await eventually(() => expect(expired).toBeGreaterThan(0))
    await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(2))
    await transport.close()
  })

  it('silence: quiet watches are renewed and handlers left alone', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const calls: string[] = []
    const settings = { watching: { inactivityTimeout: '300ms' } } as const
    await the.create('one', { size: 1 })
    await the.run([follower('quiet', calls)], { transport, settings })
    await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(1))
    await eventually(() => expect(calls).toEqual(['one 1', 'one 1']))
    const watches = () => proxy.requests().filter(({ path }) => path.includes('watch=true')).length
    const before = watches()
    await eventually(() => expect(watches()).toBeGreaterThan(before + 1))
    expect(calls).toEqual(['one 1', 'one 1'])
    await the.change('one', { spec: { size: 2 } })
    await eventually(() => expect(calls).toContain('one 2'))
    await transport.close()
  })
})

// RUNTIME-73
it('a source is told which kind can’t be watched, until it can', async () => {
  await using the = await world(plane)
  await using proxy = await plane.proxy()
  const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
  const told: string[] = []
  // A watch of widgets that was cut may be told of later.
  const ofConfigMaps = () => told.filter((line) => line.startsWith('ConfigMap'))
  const widgets = follower('told-of-problems')
  widgets.watches(ConfigMap, () => [])
  widgets.source('all', async ({ follow, signal }) => {
    for (const resource of [Widget, ConfigMap])
      follow(resource as typeof Widget, {
        seen: () => {},
        deleted: () => {},
        watchProblem: (problem) => void told.push(`${resource.kind} ${problem?.reason ?? 'is watched'}`),
      })
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  await the.run([widgets], { transport })
  proxy.decide(({ path }) => (path.includes('/configmaps') ? 'drop' : 'pass'))
  proxy.cut()
  await eventually(() => expect(ofConfigMaps().at(-1)).toBe('ConfigMap Unreachable'))
  proxy.decide(() => 'pass')
  await eventually(() => expect(ofConfigMaps().at(-1)).toBe('ConfigMap is watched'))
  await transport.close()
})

// RUNTIME-73
it('a source is told that a kind can be watched again when it can in every namespace', async () => {
  await using the = await world(plane)
  const other = await plane.namespace('operator')
  await using proxy = await plane.proxy()
  const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
  const told: (string | undefined)[] = []
  const seen: string[] = []
  const widgets = follower('told-of-namespaces')
  widgets.source('all', async ({ follow, signal }) => {
    follow(Widget, {
      seen: ({ metadata }) => void seen.push(metadata.name),
      deleted: () => {},
      watchProblem: (problem) => void told.push(problem?.namespace),
    })
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  await the.run([widgets], { transport, namespaces: [the.namespace, other] })
  const drop = (...namespaces: readonly string[]) =>
    proxy.decide(({ path }) => (namespaces.some((one) => path.includes(`/${one}/widgets`)) ? 'drop' : 'pass'))
  const tries = () => proxy.requests().filter(({ path }) => path.includes(`/${the.namespace}/widgets`)).length
  drop(other)
  proxy.cut()
  await eventually(() => expect(told.at(-1)).toBe(other))
  const [before, asked] = [told.length, tries()]
  drop(the.namespace, other)
  proxy.cut()
  await eventually(() => expect(tries()).toBeGreaterThan(asked))

  drop(other)
  await the.create('one')
  await eventually(() => expect(seen).toContain('one'))
  expect(told.slice(before)).not.toContain(undefined)
  drop()
  await eventually(() => expect(told.at(-1)).toBeUndefined())
  await transport.close()
})

describe('the operator is not ready, says why and how to correct it, and goes on by itself', () => {
  // RUNTIME-37
  it('when the kind is not installed', async () => {
    await using the = await world(plane)
    const kind = `Late${Date.now()}`
    const plural = `${kind.toLowerCase()}s`
    const Late = defineResource<{ size: number }>({ ...Widget, kind, plural, subresources: [] })
    const log = memoryLog()
    const seen: string[] = []
    const late = controller(Late, { name: 'late' })
    late.on.event('see', ({ name }) => void seen.push(name))
    const running = the.run([late], { log, remedy: ({ resource }) => `install ${resource.plural}` })
    await eventually(() => expect(log.lines).toHaveLength(1))
    expect(log.lines).toEqual([
      `warn ${plural}.test.muster.dev: the API server does not know ${kind} (test.muster.dev/v1): install ${plural}`,
    ])
    await plane.rest('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetCrd(plural, kind))
    const one = await running
    expect(one.status()).toEqual({ synced: true, leading: undefined, problems: [] })
    await the.api.create(Late, { spec: { size: 1 }, metadata: { name: 'first', namespace: the.namespace } })
    await eventually(() => expect(seen).toEqual(['first']))
    await plane.rest('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.test.muster.dev`)
  })

  // RUNTIME-37
  it('when RBAC forbids it', async () => {
    await using the = await world(plane)
    await plane.rest('POST', `/api/v1/namespaces/${the.namespace}/serviceaccounts`, { metadata: { name: 'poor' } })
    const transport = await loadTransport({ kubeconfig: await plane.kubeconfigFor('poor', the.namespace) })
    const log = memoryLog()
    const running = the.run([follower('poor')], { transport, log })
    await eventually(() => expect(log.lines).toHaveLength(1))
    expect(log.lines[0]).toMatch(
      /^warn widgets\.test\.muster\.dev: widgets\.test\.muster\.dev is forbidden: User "system:serviceaccount:.*:poor" cannot (list|watch)/,
    )
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${the.namespace}`
    await plane.rest('POST', `${rbac}/roles`, {
      metadata: { name: 'widgets' },
      rules: [{ apiGroups: ['test.muster.dev'], resources: ['widgets', 'widgets/status'], verbs: ['*'] }],
    })
    await plane.rest('POST', `${rbac}/rolebindings`, {
      metadata: { name: 'widgets' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'widgets' },
      subjects: [{ kind: 'ServiceAccount', name: 'poor', namespace: the.namespace }],
    })
    const one = await running
    expect(one.status().synced).toBe(true)
    await one.stop()
    await transport.close()
  })
})

/** An API server takes them one by one. */
const MANY = repetitions({ deep: 10_000, slice: 2_000 })

describe('many objects', () => {
  // RUNTIME-38
  it(`${MANY} are cached and indexed before the first handler runs, and nothing is asked when nothing changes`, async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const transport = await loadTransport({ kubeconfig: proxy.kubeconfig })
    const writer = createApi(the.transport)
    const total = MANY
    let next = 0
    const make = async () => {
      for (let at = next++; at < total; at = next++) {
        await writer.create(ConfigMap, {
          metadata: { name: `part-${at}`, namespace: the.namespace, labels: { shard: String(at % 10) } },
        })
      }
    }
    await Promise.all(Array.from({ length: 24 }, make))

    const parts = controller(ConfigMap, {
      name: 'parts',
      transform: ({ metadata, ...rest }) => ({ ...rest, metadata }),
    })
    const byShard = parts.index('shard', ({ metadata: { labels } }) =>
      labels?.shard === undefined ? [] : [[labels.shard, 1]],
    )
    const firstView: number[] = []
    let calls = 0
    parts.reconcile(
      () => {
        calls += 1
        if (firstView.length === 0) firstView.push(...[...byShard.keys()].map((key) => byShard.get(key).length))
      },
      { labels: { shard: (value) => value !== undefined } },
    )
    const one = await the.run([parts], { transport, log: silent })
    await eventually(() => expect(calls).toBe(total), 60_000)
    expect(firstView).toEqual(Array.from({ length: 10 }, () => total / 10))
    expect(new Set(proxy.requests().map(({ method }) => method))).toEqual(new Set(['GET']))
    expect(one.status().synced).toBe(true)
    await one.stop()
    await transport.close()
    await plane.rest('DELETE', `/api/v1/namespaces/${the.namespace}/configmaps`)
  }, 180_000)
})
