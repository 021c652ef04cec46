import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import {
  ControllerHost,
  type HostOptions,
  hostedOperator,
  type ResourceEvent,
  ResourceEventType,
} from '#operator/host.ts'
import { controller } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { type RequestProxy, sharedControlPlane, startControlPlane } from '#test/harness/index.ts'
import { eventually, IN_ANNOTATIONS, memoryLog, Widget, widgetCrd, world } from './world.ts'

/*
 * The contract of `@dot-i/k8s-operator` (its README's three examples, written anew) on our host and a real API server.
 * The unmodified package ends the process on a quiet watch, and loses finalizers and statuses; see docs/decisions/host.md.
 */

const plane = await sharedControlPlane()

/** Example 1: tells what happens to namespaces. */
class NamespaceWatcher extends ControllerHost {
  readonly events: string[] = []
  protected override async init(): Promise<void> {
    await this.watchResource('', 'v1', 'namespaces', async ({ type, meta }) => {
      this.events.push(`${type} ${meta.kind} ${meta.name}`)
    })
  }
}

/** Example 2: a finalizer, and a status that follows the generation. */
class WidgetOperator extends ControllerHost {
  readonly log: string[] = []
  readonly #namespace: string
  constructor(options: HostOptions, namespace: string) {
    super(options)
    this.#namespace = namespace
  }

  protected override async init(): Promise<void> {
    const handle = (event: ResourceEvent) => this.#handle(event)
    await this.watchResource('test.muster.dev', 'v1', 'widgets', handle, this.#namespace)
  }

  async #handle(event: ResourceEvent): Promise<void> {
    if (event.type === ResourceEventType.Deleted) return
    const done = await this.handleResourceFinalizer(event, 'test.muster.dev/widget-operator', async ({ meta }) => {
      this.log.push(`clean up ${meta.name}`)
    })
    if (done) return
    const { metadata, status } = event.object as unknown as Widget
    if (status?.seen === metadata.generation) return
    this.log.push(`modified ${event.meta.name}`)
    await this.setResourceStatus(event.meta, { seen: metadata.generation })
  }

  /** Protected in the base class. */
  patchStatus(event: Pick<ResourceEvent, 'meta'>, status: unknown): Promise<ResourceEvent['meta'] | null> {
    return this.patchResourceStatus(event.meta, status)
  }
}

/** Example 3: brings its own kind. */
class Registrar extends ControllerHost {
  readonly seen: string[] = []
  readonly #file: string
  constructor(options: HostOptions, file: string) {
    super(options)
    this.#file = file
  }

  protected override async init(): Promise<void> {
    const { group, versions, plural } = await this.registerCustomResourceDefinition(this.#file)
    await this.watchResource(group, versions[0]?.name ?? '', plural, async ({ type, meta }) => {
      this.seen.push(`${type} ${meta.name}`)
    })
  }

  uri(): string {
    return this.getCustomResourceApiUri('test.muster.dev', 'v1', 'widgets', 'x')
  }
}

describe('example 1: a watcher of namespaces', () => {
  it('is told of those that are there, and of additions, changes and deletions', async () => {
    const host = new NamespaceWatcher({ kubeconfig: plane.kubeconfig, log: silent })
    await host.start()
    await eventually(() => expect(host.events).toContain('ADDED Namespace default'))
    const name = await plane.namespace('host')
    await plane.rest('PATCH', `/api/v1/namespaces/${name}`, { metadata: { labels: { touched: 'yes' } } })
    await plane.rest('DELETE', `/api/v1/namespaces/${name}`)
    await eventually(() => expect(host.events).toContain(`DELETED Namespace ${name}`), 60_000)
    const own = host.events.filter((event) => event.endsWith(name))
    expect(own[0]).toBe(`ADDED Namespace ${name}`)
    expect(own).toContain(`MODIFIED Namespace ${name}`)
    await host.stop()
  })
})

describe('example 2: an operator of a custom resource', () => {
  it('adds its finalizer, sets the status, cleans up and lets the object go', async () => {
    await using the = await world(plane)
    const host = new WidgetOperator({ kubeconfig: plane.kubeconfig, log: silent }, the.namespace)
    await host.start()
    await the.create('one')
    const one = await eventually(async () => {
      const widget = await the.get('one')
      expect(widget?.status?.seen).toBe(1)
      return widget
    })
    expect(one?.metadata.finalizers).toEqual(['test.muster.dev/widget-operator'])
    await the.change('one', { spec: { size: 2 } })
    await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(2))
    const meta = { id: 'widgets.test.muster.dev/v1', name: 'one', namespace: the.namespace }
    const rest = { resourceVersion: '', apiVersion: '', kind: '' }
    await host.patchStatus({ meta: { ...meta, ...rest } }, { phase: 'patched' })
    expect((await the.get('one'))?.status).toEqual({ seen: 2, phase: 'patched' })
    await the.remove('one')
    await eventually(async () => expect(await the.get('one')).toBeUndefined())
    expect(await host.patchStatus({ meta: { ...meta, ...rest } }, { phase: 'late' })).toBeNull()
    expect(host.log).toEqual(['modified one', 'modified one', 'clean up one'])
    await host.stop()
  })

  it('keeps the finalizers of others when they write at the same time (409)', async () => {
    await using the = await world(plane)
    await using proxy = await plane.proxy()
    const log = memoryLog()
    const settings = { queueing: { errorDelays: ['10ms'] } } as const
    const host = new WidgetOperator({ kubeconfig: proxy.kubeconfig, log, settings }, the.namespace)
    let interfered = false
    proxy.decide(async ({ method }): Promise<'pass'> => {
      if (method === 'PATCH' && !interfered) {
        interfered = true
        await the.change('one', { metadata: { finalizers: ['test.muster.dev/other'] } })
      }
      return 'pass'
    })
    await host.start()
    await the.create('one')
    await eventually(async () =>
      expect((await the.get('one'))?.metadata.finalizers).toEqual([
        'test.muster.dev/other',
        'test.muster.dev/widget-operator',
      ]),
    )
    await host.stop()
    await the.change('one', { metadata: { finalizers: null } })
  })

  describe('goes on', () => {
    let proxy: RequestProxy
    beforeAll(async () => {
      proxy = await plane.proxy()
    })
    afterAll(async () => {
      await proxy.stop()
    })

    it('after a history that is too old (410) and after a quiet watch was taken for dead', async () => {
      await using the = await world(plane)
      const settings = { watching: { inactivityTimeout: '300ms' } } as const
      const host = new WidgetOperator({ kubeconfig: proxy.kubeconfig, log: silent, settings }, the.namespace)
      await host.start()
      await the.create('one')
      await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(1))
      const watches = () => proxy.requests().filter(({ path }) => path.includes('watch=true')).length
      const before = watches()
      await eventually(() => expect(watches()).toBeGreaterThan(before + 1))
      let expired = 0
      proxy.decide(({ path }) => {
        if (!path.includes('watch=true') || !path.includes('resourceVersion=') || expired > 0) return 'pass'
        expired += 1
        return { status: 410 }
      })
      await eventually(() => expect(expired).toBe(1))
      await the.change('one', { spec: { size: 2 } })
      await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(2))
      // Nothing is replayed: the unmodified package would have told of `one` again with every watch.
      expect(host.log).toEqual(['modified one', 'modified one'])
      await host.stop()
      await the.change('one', { metadata: { finalizers: null } })
    })

    it('after the API server was killed and came back', async () => {
      await using own = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
      await using the = await world(own)
      const host = new WidgetOperator({ kubeconfig: own.kubeconfig, log: silent }, the.namespace)
      await host.start()
      await the.create('one')
      await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(1))
      await own.kill('kube-apiserver')
      await own.restart('kube-apiserver')
      await eventually(() => the.change('one', { spec: { size: 2 } }))
      await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(2), 60_000)
      await host.stop()
    })

    it('through 40 s in which the API server says nothing', async () => {
      await using the = await world(plane)
      const host = new WidgetOperator({ kubeconfig: plane.kubeconfig, log: silent }, the.namespace)
      await host.start()
      await new Promise((resolve) => setTimeout(resolve, 40_000))
      await the.create('one')
      await eventually(async () => expect((await the.get('one'))?.status?.seen).toBe(1))
      await host.stop()
      await the.change('one', { metadata: { finalizers: null } })
    }, 90_000)
  })
})

describe('example 3: an operator that registers its kind', () => {
  it('creates the definition, takes one that is there, and watches the kind as soon as it is served', async () => {
    const kind = `Hosted${Date.now()}`
    const plural = `${kind.toLowerCase()}s`
    const file = join(await temporaryFolder('crd'), 'crd.yaml')
    await writeFile(file, JSON.stringify(widgetCrd(plural, kind)))
    const first = new Registrar({ kubeconfig: plane.kubeconfig, log: silent }, file)
    const second = new Registrar({ kubeconfig: plane.kubeconfig, log: silent }, file)
    await first.start()
    await second.start()
    const namespace = await plane.namespace('host')
    const path = `/apis/test.muster.dev/v1/namespaces/${namespace}/${plural}`
    const object = { apiVersion: 'test.muster.dev/v1', kind, metadata: { name: 'one' }, spec: { size: 1 } }
    await eventually(() => plane.rest('POST', path, object))
    await eventually(() => expect([first.seen, second.seen]).toEqual([['ADDED one'], ['ADDED one']]))
    expect(first.uri()).toBe(`${plane.server}/apis/test.muster.dev/v1/namespaces/x/widgets`)
    await Promise.all([first.stop(), second.stop()])
    await plane.rest('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.test.muster.dev`)
  })

  it('refuses a file that is no definition', async () => {
    const file = join(await temporaryFolder('crd'), 'crd.yaml')
    await writeFile(file, 'kind: ConfigMap\napiVersion: v1\n')
    const host = new Registrar({ kubeconfig: plane.kubeconfig, log: silent }, file)
    await expect(host.start()).rejects.toThrow(`${file} is not a CustomResourceDefinition`)
    await host.stop()
  })
})

describe('our own controllers in the host', () => {
  it('run side by side until the signal', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    const controllers = ['left', 'right'].map((name) => {
      const widgets = controller(Widget, { name, ...IN_ANNOTATIONS })
      widgets.reconcile(({ name: widget }) => void calls.push(`${name} ${widget}`))
      return widgets
    })
    const one = hostedOperator({ controllers, transport: the.transport, namespaces: [the.namespace], log: silent })
    const stop = new AbortController()
    const running = one.start(stop.signal)
    await one.ready
    await the.create('one')
    await eventually(() => expect(calls.toSorted()).toEqual(['left one', 'right one']))
    stop.abort()
    await running
    expect(one.status().synced).toBe(true)
  })
})
