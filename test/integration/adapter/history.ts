/** Random histories of clusters, tasks, failures and killed managers on real servers, and what has to be so when they have settled. */
import { setTimeout as delay } from 'node:timers/promises'
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { DeepPartial, KubeObject } from '#operator/index.ts'
import { type MusterProcess, type RequestProxy, startMuster } from '#test/harness/index.ts'
import type { ApiFront } from './api-front.ts'
import { namesOf, resourcesOf, type Shape, type Step, TASKS, type TaskName } from './history-steps.ts'
import type { AdapterWorld, Cluster } from './world.ts'

interface DeclaredTask {
  readonly shapes: readonly Shape[]
  readonly paces: readonly string[]
}

export interface HistoryOptions {
  readonly world: AdapterWorld
  /** Before the Kubernetes API of managers. */
  readonly proxy: RequestProxy
  /** Before the HyperFleet API of managers. */
  readonly front: ApiFront
}

interface LabelledCluster extends Cluster {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

const FINALIZER = 'example.com/hold'
/** What tasks apply in histories. */
const PLURALS = ['configmaps', 'secrets'] as const
type Plural = (typeof PLURALS)[number]

/** It goes on from history to history; each has clusters of its own. */
export class Histories {
  readonly #options: HistoryOptions
  readonly #tasks = new Map<TaskName, DeclaredTask>()
  #manager: MusterProcess | undefined
  #histories = 0
  #made = 0
  /** Ids of clusters, by their slot. */
  readonly #slots = new Map<number, string>()

  constructor(options: HistoryOptions) {
    this.#options = options
  }

  async begin(): Promise<void> {
    this.#histories++
    for (const name of TASKS) await this.#declare(name, { shapes: ['plain', 'numbered'], paces: ['slow'] })
    if (this.#manager === undefined) await this.#startManager()
  }

  async act(one: Step): Promise<void> {
    switch (one.does) {
      case 'kill':
        return this.#kill(one)
      case 'fail':
        return this.#fail(one)
      case 'shapes':
        await this.#declare(one.task, { paces: ['slow', 'fast'], ...this.#tasks.get(one.task), shapes: one.shapes })
        break
      case 'select':
        await this.#declare(one.task, { shapes: ['plain'], ...this.#tasks.get(one.task), paces: one.paces })
        break
      case 'remove task':
        await this.#removeTask(one.task, one.sweeps)
        break
      case 'release':
        await this.#release()
        break
      default:
        await this.#change(one)
    }
    await this.#pulse()
    await delay(100)
  }

  /** Nothing hinders anything any more. A task that is gone is there again, or what it has reported is waited for. */
  async end(): Promise<void> {
    this.#decide(() => 'pass')
    for (const name of TASKS) await this.#declare(name, this.#tasks.get(name) ?? { shapes: ['plain'], paces: ['slow'] })
    await this.#release()
  }

  /** What is not as it has to be. */
  async problems(): Promise<readonly string[]> {
    const { world } = this.#options
    await this.#pulse()
    const clusters = await this.#clusters()
    const objects = await this.#objects()
    const inventories = await Array.fromAsync(world.kube.list(AdapterInventory, { namespace: world.namespace }))
    const expected = new Set<string>()
    const served = new Set<string>()
    for (const [name, { shapes, paces }] of this.#tasks)
      for (const cluster of clusters) {
        if (cluster.deleted_time !== undefined || !paces.includes(cluster.labels.pace ?? '')) continue
        served.add(`${name} ${cluster.id}`)
        for (const shape of shapes) for (const object of namesOf(shape, name, cluster)) expected.add(object)
      }
    const there = new Set(objects.map(({ metadata }) => metadata.name))
    return [
      ...[...there.difference(expected)].map((name) => `${name} is left`),
      ...[...expected.difference(there)].map((name) => `${name} is missing`),
      ...inventories
        .filter(({ spec }) => !served.has(`${spec.task} ${spec.resourceId}`))
        .map(({ spec }) => `${spec.task} has an inventory of ${spec.resourceId}`),
      ...clusters.flatMap(({ id, deleted_time, status }) => {
        if (deleted_time !== undefined) return [`the deletion of ${id} hangs`]
        const isServed = TASKS.some((name) => served.has(`${name} ${id}`))
        return isServed && status.phase !== 'Ready' ? [`${id} is ${status.phase}`] : []
      }),
    ]
  }

  async stop(): Promise<void> {
    const manager = this.#manager
    this.#manager = undefined
    await manager?.stop()
  }

  async #change(one: { readonly does: string; readonly slot: number; readonly pace?: string }): Promise<void> {
    const { world } = this.#options
    const id = this.#slots.get(one.slot)
    const record = id === undefined ? undefined : await world.cluster(id)
    if (one.does === 'create') {
      if (record !== undefined) return
      const body = {
        kind: 'Cluster',
        name: `history-${this.#histories}-${++this.#made}`,
        labels: { pace: one.pace },
        spec: {},
      }
      this.#slots.set(one.slot, (await world.call('POST', '/clusters', body))?.id ?? '')
      return
    }
    if (record === undefined) return
    const path = `/clusters/${record.id}`
    const isLiving = record.deleted_time === undefined
    if (one.does === 'hold') await this.#hold(record.id)
    else if (one.does === 'force') {
      await world.call('DELETE', path)
      await world.call('POST', `${path}/force-delete`, { reason: 'a test' }).catch(() => {})
    } else if (one.does === 'delete') await world.call('DELETE', path)
    else if (isLiving && one.does === 'relabel') await world.call('PATCH', path, { labels: { pace: one.pace } })
    else if (isLiving) await world.call('PATCH', path, { spec: { changed: ++this.#made } })
  }

  /** What of the cluster is there is held by a finalizer from now on. */
  async #hold(id: string): Promise<void> {
    for (const { plural, metadata } of await this.#objects())
      if (metadata.name.includes(id) && metadata.deletionTimestamp === undefined)
        await this.#setFinalizers(plural, metadata.name, [FINALIZER])
  }

  async #release(): Promise<void> {
    for (const { plural, metadata } of await this.#objects())
      if (metadata.finalizers?.includes(FINALIZER)) await this.#setFinalizers(plural, metadata.name, [])
  }

  async #setFinalizers(plural: Plural, name: string, finalizers: readonly string[]): Promise<void> {
    const { world } = this.#options
    const path = `/api/v1/namespaces/${world.namespace}/${plural}/${name}`
    // It may be gone meanwhile.
    await world.plane.rest('PATCH', path, { metadata: { finalizers } }).catch(() => {})
  }

  async #objects(): Promise<readonly (KubeObject & { readonly plural: Plural })[]> {
    const { world } = this.#options
    const lists = PLURALS.map(async (plural) => {
      const path = `/api/v1/namespaces/${world.namespace}/${plural}?labelSelector=muster.dev/adapter`
      const list = (await world.object(path)) as unknown as { readonly items: readonly KubeObject[] } | undefined
      if (list === undefined) throw new Error(`${plural} could not be listed`)
      return list.items.map((item) => ({ ...item, plural }))
    })
    return (await Promise.all(lists)).flat()
  }

  async #clusters(): Promise<readonly LabelledCluster[]> {
    const list = await this.#options.world.call<{ items: LabelledCluster[] }>('GET', '/clusters?size=100')
    return list?.items ?? []
  }

  /** As a Sentinel does in the end with every one. */
  async #pulse(): Promise<void> {
    for (const { id } of await this.#clusters()) await this.#options.world.pulse(id).catch(() => {})
  }

  async #declare(name: TaskName, declared: DeclaredTask): Promise<void> {
    const { world } = this.#options
    const spec = {
      resources: declared.shapes.flatMap((shape) => resourcesOf(shape, name, world.namespace)),
      selector: { matchExpressions: [{ key: 'pace', operator: 'In' as const, values: [...declared.paces] }] },
    }
    if (this.#tasks.has(name)) await world.plane.rest('PATCH', this.#pathOf(name), { spec })
    else
      await world.declare(name, {
        ...spec,
        params: [{ name: 'clusterId', source: 'event.id', required: true }],
        events: { visibility: '2s' },
        hyperfleetAPI: { url: this.#options.front.url },
      } as DeepPartial<AdapterTaskSpec>)
    this.#tasks.set(name, declared)
  }

  async #removeTask(name: TaskName, sweeps: boolean): Promise<void> {
    if (!this.#tasks.delete(name)) return
    const { plane } = this.#options.world
    await plane.rest('PATCH', this.#pathOf(name), {
      spec: { retention: { whenTaskDeleted: sweeps ? 'Delete' : 'Keep' } },
    })
    await plane.rest('DELETE', this.#pathOf(name))
  }

  #pathOf(name: TaskName): string {
    return `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${this.#options.world.namespace}/adaptertasks/${name}`
  }

  /** As the kubelet does: one that ends by itself, because the server could not serve when it started, is started again. */
  async #startManager(): Promise<void> {
    const { world, proxy, front } = this.#options
    const kubeconfig = await world.plane.kubeconfigFor('hyperfleet-adapter', world.namespace, proxy.server)
    const manager = await startMuster([
      'manager',
      '--controllers=adapter',
      `--namespace=${world.namespace}`,
      `--kubeconfig=${kubeconfig}`,
      '--metrics-bind-address=0',
      '--health-probe-bind-address=0',
      `--hyperfleet-api-url=${front.url}`,
    ])
    this.#manager = manager
    void manager.exited.then(async ({ code }) => {
      if (code === 0 || this.#manager !== manager) return
      await delay(500)
      if (this.#manager === manager) await this.#startManager()
    })
  }

  /** At one of its next requests to a server, which is done and not answered, or never comes there. SIGTERM lets it end as it does. */
  async #kill({ how, at, fate }: Extract<Step, { does: 'kill' }>): Promise<void> {
    const { world } = this.#options
    let left = at.after
    const reached = new Promise<void>((resolve) => {
      this.#decide((of) => {
        if (of !== at.of || left-- > 0) return 'pass'
        resolve()
        if (left === -1) return fate
        return how === 'SIGKILL' ? 'drop' : 'pass'
      })
    })
    await this.#pulse()
    await Promise.race([reached, delay(2_000)])
    const manager = this.#manager
    this.#manager = undefined
    if (how === 'SIGKILL') manager?.signal('SIGKILL')
    const exit = await (how === 'SIGTERM' ? manager?.stop() : manager?.exited)
    // One that could not be served at its start has ended by itself.
    // By SIGKILL it ended when it was not gone in time; by SIGTERM itself, when it had not yet begun to listen to it.
    if (how === 'SIGTERM' && exit?.signal === 'SIGKILL') throw new Error('the manager did not end when it was told to')
    this.#decide(() => 'pass')
    // What 15 s would do: the next one need not wait for the Lease to run out. One that ends in order has let it go.
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${world.namespace}/leases`
    if (how === 'SIGKILL') await world.plane.rest('DELETE', leases)
    await this.#startManager()
  }

  /** So many of the next requests are refused, or done without an answer. */
  async #fail({ where, isDone, requests }: Extract<Step, { does: 'fail' }>): Promise<void> {
    let left = requests
    this.#decide((of, server) => {
      const isMeant = where === 'queue' ? of === 'queue' : of === 'work' && server === where
      if (!isMeant || left-- <= 0) return 'pass'
      return isDone ? 'lose' : { status: 500 }
    })
    await this.#pulse()
    await delay(300)
  }

  /** Requests that keep watches and Leases going pass. */
  #decide(
    fate: (of: 'work' | 'queue', server: 'Kubernetes' | 'HyperFleet') => 'pass' | 'drop' | 'lose' | { status: 500 },
  ): void {
    const { proxy, front } = this.#options
    proxy.decide(({ path }) => (/watch=|leases/.test(path) ? 'pass' : fate('work', 'Kubernetes')))
    front.decide(({ path }) => fate(path.includes('/events/') ? 'queue' : 'work', 'HyperFleet'))
  }
}
