/** What the adapters' tests stand on: the real API, a namespace with the manager's own rights, tasks in it, and managers that run. */
import { Registry } from 'prom-client'
import { vi } from 'vitest'
import { AdapterTask, type AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { adapter } from '#controllers/adapter/index.ts'
import type { AdapterOptions } from '#controllers/adapter/options.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { type DeepPartial, type KubeObject, systemClock } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import type { IssuerSettings } from '#services/hyperfleet-api/auth/issuer.ts'
import type { EntityConfig } from '#services/hyperfleet-api/model/entity-config.ts'
import { start } from '#services/hyperfleet-api/start.ts'
import { accountOf, type ControlPlane, recorder, runOperator, sharedControlPlane } from '#test/harness/index.ts'

/** Long enough for a busy machine; nothing waits so long when all is well. */
export const PATIENCE = { timeout: 30_000, interval: 50 }

const BASE = '/api/hyperfleet/v1'

export interface Cluster {
  readonly id: string
  readonly href: string
  readonly generation: number
  readonly deleted_time?: string
  readonly status: { readonly phase: string; readonly conditions: readonly Condition[] }
}

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly observed_generation?: number
}

export interface AdapterWorld extends AsyncDisposable {
  readonly plane: ControlPlane
  readonly namespace: string
  /** The namespace of the accounts that tasks act as. */
  readonly accounts: string
  /** Of the HyperFleet API. */
  readonly url: string
  /** As admin. */
  readonly kube: Api
  /** Creates an AdapterTask; its ServiceAccount may do everything unless another one is named. */
  declare(name: string, task: DeepPartial<AdapterTaskSpec>): Promise<void>
  task(name: string): Promise<AdapterTask>
  /** Merges these fields into the spec of an AdapterTask; null removes one. */
  change(name: string, spec: object): Promise<AdapterTask>
  /** Resolves when the condition Ready has this reason. */
  until(name: string, reason: string): Promise<AdapterTask>
  /** One call of the HyperFleet API; undefined for 404. */
  call<T = Cluster>(method: string, path: string, body?: object): Promise<T | undefined>
  create(name: string, spec?: object, labels?: Readonly<Record<string, string>>): Promise<Cluster>
  /** What a Sentinel would do. */
  pulse(id: string, reason?: string): Promise<void>
  /** Pulses a cluster until the check holds, or rejects with what it throws. */
  pulsedUntil(id: string, check: () => Promise<void>): Promise<void>
  cluster(id: string): Promise<Cluster | undefined>
  /** The adapter's own conditions about a cluster, as `Applied True Reason`. */
  reported(id: string, adapter: string): Promise<readonly string[]>
  /** An object of the cluster, as admin; undefined when it is not there. */
  object(path: string): Promise<KubeObject | undefined>
  /** @param deps what tasks may read and reach */
  manager(kubeconfig?: string, deps?: Partial<AdapterOptions>): Promise<Manager>
}

export interface Manager {
  readonly registry: Registry
  readonly lines: readonly string[]
  /** SIGTERM's effect. */
  stop(): Promise<void>
}

export interface AdapterWorldOptions {
  /** A control plane of the test's own; the shared one when absent. */
  readonly plane?: ControlPlane
  /** Where the API relays its events to. */
  readonly natsUrl?: string
  /** The kinds of the API; Cluster and NodePool when absent. */
  readonly entities?: readonly EntityConfig[]
  /** The accounts of tasks are in a namespace of their own, as kustomize/ has it. */
  readonly accountsApart?: boolean
  /** Which callers the API takes; all, without a token, when this is left out. The ServiceAccount `hyperfleet-developer` must be its admin. */
  readonly issuer?: (plane: ControlPlane, namespace: string, accounts: string) => Promise<IssuerSettings>
}

export const adapterWorld = async (options: AdapterWorldOptions = {}): Promise<AdapterWorld> => {
  const { plane = await sharedControlPlane(), natsUrl, entities, issuer, accountsApart = false } = options
  const namespace = await plane.namespace('adapter')
  const accounts = accountsApart ? await plane.namespace('accounts') : namespace
  const account = await accountOf(plane, 'adapter', namespace, { taskAccounts: accounts })
  await grantEverything(plane, accounts)
  const kubeconfig = await account.kubeconfig()
  const transport = await plane.transport()
  const kube = createApi(transport)
  const issuers = issuer && [await issuer(plane, namespace, accounts)]
  const api = await start({
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemClock,
    log: silent,
    natsUrl,
    issuers,
    ...(entities && { entities }),
  })
  const authorization = issuers && `Bearer ${await developerToken(plane, namespace)}`
  const running: Manager[] = []

  const call = async <T>(method: string, path: string, body?: object): Promise<T | undefined> => {
    const answer = await fetch(`${api.url}${path.startsWith(BASE) ? '' : BASE}${path}`, {
      method,
      headers: { ...(authorization && { authorization }), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (answer.status === 404) return undefined
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  const task = async (name: string): Promise<AdapterTask> => {
    const found = await kube.get(AdapterTask, name, namespace)
    if (found === undefined) throw new Error(`there is no AdapterTask ${name}`)
    return found
  }

  const pulse: AdapterWorld['pulse'] = async (id, reason = 'Test') => {
    await call('POST', '/events', { resourceType: 'clusters', resourceId: id, reason })
  }

  const cluster = (id: string) => call<Cluster>('GET', `/clusters/${id}`)

  return {
    plane,
    namespace,
    accounts,
    url: api.url,
    kube,
    task,
    call,
    change: (name, spec) => kube.patch(AdapterTask, { name, namespace, type: 'merge', body: { spec } }),
    async declare(name, spec) {
      const around = { resourceType: 'clusters', hyperfleetAPI: { url: api.url }, serviceAccountName: 'everything' }
      await kube.create(AdapterTask, {
        metadata: { name, namespace },
        spec: { adapter: { name: `${name}-${namespace.slice(-8)}` }, ...around, ...spec } as AdapterTaskSpec,
      })
    },
    until: (name, reason) =>
      vi.waitFor(async () => {
        const found = await task(name)
        const ready = found.status?.conditions?.find(({ type }) => type === 'Ready')
        if (ready?.reason !== reason) throw new Error(`${name} is ${JSON.stringify(found.status)}, not ${reason}`)
        return found
      }, PATIENCE),
    async create(name, spec = {}, labels = {}) {
      const made = await call<Cluster>('POST', '/clusters', { kind: 'Cluster', name, labels, spec })
      if (made === undefined) throw new Error(`${name} was not made`)
      return made
    },
    pulse,
    pulsedUntil: (id, check) =>
      vi.waitFor(
        async () => {
          try {
            await check()
          } catch (error) {
            if ((await cluster(id)) !== undefined) await pulse(id)
            throw error
          }
        },
        { timeout: 90_000, interval: 300 },
      ),
    cluster,
    async reported(id, name) {
      const found = await call<{ items: { adapter: string; conditions: Condition[] }[] }>(
        'GET',
        `/clusters/${id}/statuses`,
      )
      const own = found?.items.find((item) => item.adapter === `${name}-${namespace.slice(-8)}`)
      return (own?.conditions ?? []).map(({ type, status, reason }) => `${type} ${status} ${reason}`)
    },
    async object(path) {
      try {
        return await transport.request<KubeObject>({ method: 'GET', path })
      } catch {
        return undefined
      }
    },
    async manager(other, deps = {}) {
      const registry = new Registry()
      const lines: string[] = []
      const identity = `replica-${running.length}`
      const controllers = [
        adapter({
          clock: systemClock,
          registry,
          version: 'test',
          hyperfleetApiUrl: api.url,
          ...(accountsApart && { accountsNamespace: accounts }),
          ...deps,
        }),
      ]
      const log = recorder(lines)
      const manager = await runOperator(other ?? kubeconfig, { controllers, namespaces: [namespace], log, identity })
      const started: Manager = { registry, lines, stop: manager.stop }
      running.push(started)
      await manager.ready
      return started
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((started) => started.stop()))
      await api.stop()
      await plane.rest('DELETE', `/api/v1/namespaces/${namespace}`)
      await transport.close()
    },
  }
}

/** Of a ServiceAccount that is made for it. */
const developerToken = async (plane: ControlPlane, namespace: string): Promise<string> => {
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`
  await plane.rest('POST', accounts, { metadata: { name: 'hyperfleet-developer' } })
  const spec = { audiences: ['hyperfleet-api'], expirationSeconds: 7_200 }
  const { status } = await plane.rest<{ status: { token: string } }>('POST', `${accounts}/hyperfleet-developer/token`, {
    spec,
  })
  return status.token
}

/** An account for tasks that may do everything. */
const grantEverything = async (plane: ControlPlane, namespace: string): Promise<void> => {
  await plane.rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'everything' } })
  await plane.rest('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: `everything-${namespace}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'everything', namespace }],
  })
}

/** A task of a Namespace and a ConfigMap in it, both named after the cluster. */
export const namespaceAndConfig = (): Pick<AdapterTaskSpec, 'params' | 'resources'> => ({
  params: [{ name: 'clusterId', source: 'event.id', required: true }],
  resources: [
    {
      name: 'namespace',
      manifest: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'c-{{ .clusterId }}' } },
      discovery: { by_name: 'c-{{ .clusterId }}' },
    },
    {
      name: 'config',
      manifest: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'config', namespace: 'c-{{ .clusterId }}' },
        data: { name: '{{ .resource.name }}', generation: '{{ .resource.generation }}' },
      },
      discovery: { namespace: 'c-{{ .clusterId }}', by_name: 'config' },
    },
  ],
})
