/** What the tests of ClusterDeployments stand on: the real API, a namespace with the manager's own rights, and managers that run. */
import { Registry } from 'prom-client'
import { vi } from 'vitest'
import { ClusterDeployment, type ClusterDeploymentSpec } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { clusterDeployment } from '#controllers/clusterdeployment/index.ts'
import { REGISTRATION } from '#controllers/clusterdeployment/labels.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { type Clock, type DeepPartial, systemClock, toMilliseconds } from '#operator/index.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { silent } from '#operator/model/log.ts'
import { start } from '#services/hyperfleet-api/start.ts'
import { accountOf, type ControlPlane, recorder, runOperator, sharedControlPlane } from '#test/harness/index.ts'
import { type Front, front } from './front.ts'

/** Long enough for a busy machine; nothing waits so long when all is well. */
const PATIENCE = { timeout: 40_000, interval: 50 }

export interface Cluster {
  readonly id: string
  readonly name: string
  readonly generation: number
  readonly labels: Readonly<Record<string, string>>
  readonly spec: Readonly<Record<string, unknown>>
  readonly deleted_time?: string
}

export interface Manager {
  readonly registry: Registry
  readonly lines: readonly string[]
  /** SIGTERM's effect. */
  stop(): Promise<void>
}

export interface ManagerOptions {
  /** A proxy's, between it and the API server. */
  readonly server?: string
  /** Of the HyperFleet API; the world's front when absent. */
  readonly url?: string
  readonly clock?: Clock
  readonly tokenFile?: string
}

export interface World extends AsyncDisposable {
  readonly plane: ControlPlane
  readonly namespace: string
  /** Of the HyperFleet API itself. */
  readonly url: string
  /** Before the HyperFleet API. */
  readonly front: Front
  /** As admin. */
  readonly kube: Api
  /** Creates a ClusterDeployment of a small cluster. */
  declare(name: string, spec?: DeepPartial<ClusterDeploymentSpec>, metadata?: object): Promise<ClusterDeployment>
  change(name: string, body: object): Promise<void>
  get(name: string): Promise<ClusterDeployment | undefined>
  /** Resolves when the condition Ready has this reason; the ClusterDeployment as it then is. */
  until(name: string, reason: string): Promise<ClusterDeployment>
  eventually<T>(check: () => Promise<T> | T): Promise<T>
  /** The customization `name`, leased to a cluster, or free. */
  customize(name: string, leasedTo?: string): Promise<void>
  installConfig(name: string, text: string): Promise<void>
  /** One call of the HyperFleet API, past the front; undefined for 404. */
  call<T = Cluster>(method: string, path: string, body?: object): Promise<T | undefined>
  /** The clusters that are registered for it, those in deletion included. */
  clusters(registration: string): Promise<readonly Cluster[]>
  /** The one cluster that is registered for it. */
  cluster(deployment: ClusterDeployment): Promise<Cluster>
  /** What the adapter dns says about the present generation of a cluster. */
  report(id: string, available: 'True' | 'False', message?: string, reason?: string): Promise<void>
  /** The adapter dns has cleaned up. */
  cleanUp(id: string): Promise<void>
  manager(options?: ManagerOptions): Promise<Manager>
}

const BASE = '/api/hyperfleet/v1'
const ENTITIES = [
  { kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'], name_min_len: 3, name_max_len: 53 },
]

/** @param own a control plane of the test's own, where all inventories are its own as well; the shared one when left out */
export const world = async (own?: ControlPlane): Promise<World> => {
  const plane = own ?? (await sharedControlPlane())
  const namespace = await plane.namespace('clusterdeployment')
  const account = await accountOf(plane, 'clusterdeployment', namespace, { within: true })
  const transport = await plane.transport()
  const kube = createApi(transport)
  const api = await start({
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemClock,
    log: silent,
    entities: ENTITIES,
  })
  const before = await front(api.url)
  const running: Manager[] = []

  const call = async <T>(method: string, path: string, body?: object): Promise<T | undefined> => {
    const answer = await fetch(`${api.url}${BASE}${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const text = await answer.text()
    if (answer.status === 404) return undefined
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  const tell = async (id: string, conditions: object): Promise<void> => {
    const cluster = await call<Cluster>('GET', `/clusters/${id}`)
    await call('PUT', `/clusters/${id}/statuses`, {
      adapter: 'dns',
      observed_generation: cluster?.generation,
      conditions: Object.entries(conditions).map(([type, said]) => ({ type, ...said })),
    })
  }
  const clusters = async (registration: string): Promise<readonly Cluster[]> => {
    const labels = encodeURIComponent(`${REGISTRATION}=${registration}`)
    return (await call<{ items: Cluster[] }>('GET', `/clusters?labels=${labels}`))?.items ?? []
  }
  const get = (name: string) => kube.get(ClusterDeployment, name, namespace)
  const eventually = <T>(check: () => Promise<T> | T): Promise<T> => vi.waitFor(check, PATIENCE)

  return {
    plane,
    namespace,
    url: api.url,
    front: before,
    kube,
    call,
    clusters,
    get,
    eventually,
    declare: (name, spec = {}, metadata = {}) =>
      kube.create(ClusterDeployment, {
        metadata: { name, namespace, ...metadata },
        spec: {
          baseDomain: 'example.com',
          clusterName: name,
          platform: { aws: { region: 'eu-1' } },
          ...spec,
        } as ClusterDeploymentSpec,
      }),
    async change(name, body) {
      await kube.patch(ClusterDeployment, { name, namespace, type: 'merge', body })
    },
    until: (name, reason) =>
      eventually(async () => {
        const found = await get(name)
        const ready = findCondition(found?.status?.conditions, 'Ready')
        if (found === undefined || ready?.reason !== reason)
          throw new Error(`${name} is ${JSON.stringify(found?.status)}, not ${reason}`)
        return found
      }),
    async customize(name, leasedTo) {
      await kube.create(ClusterDeploymentCustomization, { metadata: { name, namespace }, spec: {} })
      if (leasedTo === undefined) return
      const condition = {
        type: 'Available',
        status: 'False',
        reason: 'ClusterDeploymentCustomizationInUse',
        message: '',
      }
      const conditions = [{ ...condition, lastTransitionTime: new Date().toISOString() }]
      const status = { conditions, clusterDeploymentRef: { name: leasedTo, namespace } }
      const at = { name, namespace, subresource: 'status', type: 'merge' } as const
      await kube.patch(ClusterDeploymentCustomization, { ...at, body: { status } })
    },
    async installConfig(name, text) {
      const stringData = { 'install-config.yaml': text }
      await plane.rest('POST', `/api/v1/namespaces/${namespace}/secrets`, { metadata: { name }, stringData })
    },
    cluster: ({ metadata }) =>
      eventually(async () => {
        const [one, ...others] = await clusters(metadata.annotations?.[REGISTRATION] ?? metadata.uid)
        if (one === undefined || others.length > 0)
          throw new Error(`${metadata.name} has ${others.length + 1} clusters`)
        return one
      }),
    report: (id, available, message = 'the zone is there', reason = 'Said') =>
      tell(id, {
        Applied: { status: 'True' },
        Available: { status: available, reason, message },
        Health: { status: available },
      }),
    cleanUp: (id) =>
      tell(id, { Applied: { status: 'False' }, Available: { status: 'False' }, Health: { status: 'True' } }),
    async manager(options = {}) {
      const registry = new Registry()
      const lines: string[] = []
      const { clock = systemClock, url = before.url, tokenFile } = options
      const controllers = [
        clusterDeployment({
          clock,
          registry,
          version: 'test',
          hyperfleetApiUrl: url,
          hyperfleetApiTokenFile: tokenFile,
        }),
      ]
      const log = recorder(lines)
      // By whatever clock, a quiet watch is left in peace.
      const settings = { watching: { inactivityTimeout: '10h' } } as const
      const kubeconfig = await account.kubeconfig(options.server)
      const manager = await runOperator(kubeconfig, { controllers, namespaces: [namespace], log, clock, settings })
      const started: Manager = { registry, lines, stop: manager.stop }
      running.push(started)
      await manager.ready
      return started
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((started) => started.stop()))
      await before[Symbol.asyncDispose]()
      await api.stop()
      await plane.rest('DELETE', `/api/v1/namespaces/${namespace}`)
      await transport.close()
    },
  }
}

/** The API as it was before it knew anything, and as many changes on as it had made when it was put back to that. */
export const earlierApi = async (the: World): Promise<AsyncDisposable & { readonly url: string }> => {
  const api = await start({
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemClock,
    log: silent,
    entities: ENTITIES,
  })
  const clusters = `${api.url}${BASE}/clusters`
  for (let made = 0; made < the.front.requests.length; made += 1)
    await fetch(clusters, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'Cluster', name: `other-${made}`, spec: {} }),
    })
  return { url: api.url, [Symbol.asyncDispose]: () => api.stop() }
}

/** A clock on which a minute passes in a second. @param pace how many seconds pass in one */
export const hurriedClock = (pace = 60): Clock => {
  const began = Date.now()
  return {
    now: () => new Date(began + (Date.now() - began) * pace),
    sleep: (duration, signal) => systemClock.sleep(Math.ceil(toMilliseconds(duration) / pace), signal),
  }
}
