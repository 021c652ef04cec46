/** What the tests of pools stand on: a namespace, managers with the rights that are delivered, and an installer in place of the bridge. */
import { fileURLToPath } from 'node:url'
import { Registry } from 'prom-client'
import { vi } from 'vitest'
import { ClusterClaim, type ClusterClaimSpec } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import {
  ClusterDeploymentCustomization,
  type ClusterDeploymentCustomizationSpec,
} from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool, type ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { clusterClaim } from '#controllers/clusterclaim/index.ts'
import { clusterDeploymentCustomization } from '#controllers/clusterdeploymentcustomization/index.ts'
import { clusterPool } from '#controllers/clusterpool/index.ts'
import type { ClusterPoolOptions } from '#controllers/clusterpool/options.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import type { AnyController } from '#operator/controller.ts'
import { type Clock, type DeepPartial, type KubeObject, systemClock } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import {
  type Account,
  accountOf,
  type ControlPlane,
  recorder,
  runOperator,
  sharedControlPlane,
} from '#test/harness/index.ts'
import type { RequestProxy } from '#test/harness/request-proxy.ts'
import { type Installer, startInstaller } from './installer.ts'

export interface RunningManager {
  readonly registry: Registry
  /** Messages of its log, with their fields. */
  readonly lines: readonly string[]
  /** Resolves when nothing is left running. */
  stop(): Promise<void>
}

export interface PoolWorld extends AsyncDisposable {
  readonly plane: ControlPlane
  /** Of the pools. */
  readonly namespace: string
  /** As admin. */
  readonly api: Api
  readonly installer: Installer
  /** A manager of pools and one of claims, each as the ServiceAccount of its controller. */
  start(options?: {
    readonly clock?: Clock
    /** A proxy's, between them and the API server. */
    readonly server?: string
    readonly log?: boolean
    readonly preflight?: ClusterPoolOptions['preflight']
    readonly podNetwork?: ClusterPoolOptions['podNetwork']
  }): Promise<RunningManager>
  /** Creates a pool on a cloud where clusters can sleep; `inventory` are names. */
  pool(name: string, spec?: PoolSays): Promise<ClusterPool>
  change(name: string, spec: DeepPartial<ClusterPoolSpec>): Promise<void>
  /** Creates customizations that set the cluster's name to their own, unless something else is said. */
  customize(names: readonly string[], spec?: ClusterDeploymentCustomizationSpec): Promise<void>
  claim(name: string, pool: string, spec?: Partial<ClusterClaimSpec>): Promise<void>
  get: {
    pool(name: string): Promise<ClusterPool>
    claim(name: string): Promise<ClusterClaim>
    customization(name: string): Promise<ClusterDeploymentCustomization>
  }
  /** The clusters of a pool, oldest first. */
  clusters(pool: string): Promise<readonly ClusterDeployment[]>
}

export interface PoolSays extends Partial<Omit<ClusterPoolSpec, 'inventory'>> {
  readonly inventory?: readonly string[]
  readonly attempts?: number
  readonly preflight?: boolean
}

/** Long enough for a busy machine, and shorter than a test may take, so that what was waited for is told. */
const PATIENCE = { timeout: 45_000, interval: 50 }

/** Until it no longer throws. */
export const eventually = <T>(check: () => T | Promise<T>, timeout = PATIENCE.timeout): Promise<T> =>
  vi.waitFor(check, { ...PATIENCE, timeout })

/**
 * @param given a control plane of the test's own; the shared one when absent
 * @param accountsIn a namespace for the accounts of its managers; that of its pools when absent
 */
export const poolWorld = async (given?: ControlPlane, accountsIn?: string): Promise<PoolWorld> => {
  const plane = given ?? (await sharedControlPlane())
  const namespace = await plane.namespace('pools')
  const transport = await plane.transport()
  const api = createApi(transport)
  const accounts = {
    pools: await accountOf(plane, 'clusterpool', accountsIn ?? namespace),
    claims: await accountOf(plane, 'clusterclaim', accountsIn ?? namespace),
  }
  await applyPoolAdmin(plane)
  const installer = await startInstaller(transport, namespace)
  const running = new Set<RunningManager>()
  const found = async <O extends KubeObject>(object: Promise<O | undefined>, what: string): Promise<O> => {
    const there = await object
    if (there === undefined) throw new Error(`there is no ${what}`)
    return there
  }

  return {
    plane,
    namespace,
    api,
    installer,
    async start(options = {}) {
      const { clock = systemClock } = options
      const registry = new Registry()
      const lines: string[] = []
      const run = async (account: Account, controllers: readonly AnyController[]) => {
        return runOperator(await account.kubeconfig(options.server), {
          controllers,
          namespaces: [namespace],
          clock,
          log: options.log === false ? silent : recorder(lines),
          // By whatever clock, a quiet watch is left in peace.
          ...(options.clock && { settings: { watching: { inactivityTimeout: '10h' } } }),
        })
      }
      const managers = [
        await run(accounts.pools, [
          clusterPool({
            clock,
            registry,
            ...(options.preflight && { preflight: options.preflight }),
            ...(options.podNetwork && { podNetwork: options.podNetwork }),
          }),
          clusterDeploymentCustomization(),
        ]),
        await run(accounts.claims, [clusterClaim()]),
      ]
      const started = {
        registry,
        lines,
        stop: async () => {
          running.delete(started)
          await Promise.all(managers.map(({ stop }) => stop()))
        },
      }
      running.add(started)
      await Promise.all(managers.map(({ ready }) => ready))
      return started
    },
    pool: (name, { inventory, attempts, preflight, ...spec } = {}) =>
      api.create(ClusterPool, {
        metadata: { name, namespace },
        spec: {
          platform: { aws: { region: 'us-east-1' } },
          baseDomain: 'example.com',
          imageSetRef: { name: 'openshift-v4.20' },
          size: 1,
          ...(inventory !== undefined && {
            inventory: {
              ClusterDeploymentCustomizations: inventory.map((entry) => ({ name: entry })),
              ...(attempts !== undefined && { attempts }),
              ...(preflight !== undefined && { preflight }),
            },
          }),
          ...spec,
        },
      }),
    async change(name, spec) {
      await api.patch(ClusterPool, { name, namespace, type: 'merge', body: { spec } })
    },
    async customize(names, spec) {
      for (const name of names)
        await api.create(ClusterDeploymentCustomization, {
          metadata: { name, namespace },
          spec: spec ?? { installConfigPatches: [{ op: 'replace', path: '/metadata/name', value: name }] },
        })
    },
    async claim(name, pool, spec = {}) {
      await api.create(ClusterClaim, { metadata: { name, namespace }, spec: { clusterPoolName: pool, ...spec } })
    },
    get: {
      pool: (name) => found(api.get(ClusterPool, name, namespace), `pool ${name}`),
      claim: (name) => found(api.get(ClusterClaim, name, namespace), `claim ${name}`),
      customization: (name) => found(api.get(ClusterDeploymentCustomization, name, namespace), `customization ${name}`),
    },
    clusters: (pool) => clustersOf(api, namespace, pool),
    async [Symbol.asyncDispose]() {
      await Promise.all([...running].map((manager) => manager.stop()))
      await installer.stop()
      await transport.close()
    },
  }
}

const clustersOf = async (api: Api, namespace: string, pool: string): Promise<readonly ClusterDeployment[]> => {
  const clusters: ClusterDeployment[] = []
  const fieldSelector = `spec.clusterPoolRef.poolName=${pool}`
  for await (const cluster of api.list(ClusterDeployment, { fieldSelector }))
    if (cluster.spec.clusterPoolRef?.namespace === namespace) clusters.push(cluster)
  const key = ({ metadata }: ClusterDeployment) => `${metadata.creationTimestamp} ${metadata.name}`
  return clusters.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** The role that pools hand out to their admins; it is the same for all tests. */
const applyPoolAdmin = async (plane: ControlPlane): Promise<void> => {
  const file = fileURLToPath(new URL('../../../kustomize/base/rbac/pool-admin.yaml', import.meta.url))
  await plane.kubectl('apply', '--server-side', '--force-conflicts', '-f', file)
}

/** Makes a ClusterDeployment that says that it is of the pool. */
export const clusterOf = (
  the: PoolWorld,
  poolName: string,
  name: string,
  namespace: string,
): Promise<ClusterDeployment> =>
  the.api.create(ClusterDeployment, {
    metadata: { name, namespace },
    spec: {
      clusterName: name,
      baseDomain: 'example.com',
      platform: { aws: { region: 'us-east-1' } },
      clusterPoolRef: { namespace: the.namespace, poolName },
    },
  })

/** From now on no watch shows what becomes of clusters. */
export const delayWatchEvents = (proxy: RequestProxy): void => {
  const shown = Promise.withResolvers<'pass'>()
  proxy.decide(({ path }) => (/\/clusterdeployments\?.*watch=true/.test(path) ? shown.promise : 'pass'))
  proxy.cut()
}

/** Writes a lease as a manager that was cut off right after it would leave it. */
export const leaveLease = async (
  the: PoolWorld,
  name: string,
  pool: string,
  cluster: string,
  since: Date,
  namespace = cluster,
) => {
  const at = { name, namespace: the.namespace, type: 'merge' } as const
  await the.api.patch(ClusterDeploymentCustomization, { ...at, body: { metadata: { finalizers: [LEASE_FINALIZER] } } })
  const condition = { type: 'Available', status: 'False', reason: 'ClusterDeploymentCustomizationInUse', message: '' }
  const status = {
    conditions: [{ ...condition, lastTransitionTime: since.toISOString() }],
    clusterDeploymentRef: { name: cluster, namespace },
    clusterPoolRef: { name: pool, namespace: the.namespace },
  }
  await the.api.patch(ClusterDeploymentCustomization, { ...at, subresource: 'status', body: { status } })
}
