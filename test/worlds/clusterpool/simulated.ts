/**
 * A small world in memory that executes plans write by write, as the API server would: every write needs the resourceVersion that
 * was seen, objects with finalizers stay. Several managers may be in the middle of their passes at once, and may die there.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { deploymentManifest } from '#controllers/clusterpool/cluster/manifests.ts'
import { decide } from '#controllers/clusterpool/decide.ts'
import { explain } from '#controllers/clusterpool/explain.ts'
import { LEASE_GRACE_MS } from '#controllers/clusterpool/lease/lease.ts'
import { conditionsFor, holderConditions } from '#controllers/clusterpool/lease/lease-conditions.ts'
import type { CustomizationState } from '#controllers/clusterpool/model/customization-state.ts'
import { keyOf, type NamespacedName } from '#controllers/clusterpool/model/names.ts'
import { toObserved } from '#controllers/clusterpool/model/observed.ts'
import type { Action, Plan } from '#controllers/clusterpool/model/plan.ts'
import type { CreationFailure } from '#controllers/clusterpool/model/rejection.ts'
import { nextCreationFailure } from '#controllers/clusterpool/observe/creation-failures.ts'
import { withConditions } from '#operator/model/conditions.ts'
import type { KubeObject } from '#operator/model/resource.ts'
import { aCluster, minutes, NAMESPACE } from './builders.ts'

/** Another client wrote first, or the object is gone: the action is given up, the others go on. */
class Conflict extends Error {}

/** What a cluster needs was denied: its lease was taken, and the cluster is not there. */
class Denied extends Error {}

export interface WorldOptions {
  readonly pools: readonly ClusterPool[]
  readonly clusters?: readonly ClusterDeployment[]
  readonly claims?: readonly ClusterClaim[]
  readonly customizations?: readonly ClusterDeploymentCustomization[]
  /** Customizations with which no installation succeeds. */
  readonly failing?: readonly string[]
  /** Customizations whose clusters are denied a namespace. */
  readonly denied?: readonly string[]
}

/** More than any world of a test needs: attempts of all customizations, one after the other. */
const MAX_ROUNDS = 300

/** What is left of a pass: each step is one write. */
export type Steps = Generator<void, void>

export class World {
  readonly pools: Map<string, ClusterPool>
  readonly clusters: Map<string, ClusterDeployment>
  readonly claims: Map<string, ClusterClaim>
  readonly customizations: Map<string, ClusterDeploymentCustomization>
  /** May be changed at any time: an administrator lets them in. */
  readonly denied: Set<string>
  /** What managers remember of creations, by the pool; a manager that dies forgets (`forget`). */
  readonly #creationFailures = new Map<string, Map<string, CreationFailure>>()
  /** Clusters that the bridge registered: it does so only while their customization is leased to them (CLUSTER-2). */
  readonly #registered: Set<string>
  readonly #cursed: ReadonlySet<string>
  /** Which cluster leases a customization, and since when (milliseconds). */
  readonly #holders = new Map<string, { readonly cluster: string; readonly since: number }>()
  /** Clusters that were ever made. */
  readonly #made = new Set<string>()
  readonly #earlyLosses: string[] = []
  readonly #doubleLeases: string[] = []
  #minute = 60
  #version = 1
  #suffix = 0

  constructor({ pools, clusters = [], claims = [], customizations = [], failing = [], denied = [] }: WorldOptions) {
    const byName = <O extends KubeObject>(objects: readonly O[]) =>
      new Map(objects.map((one) => [one.metadata.name, one]))
    this.pools = byName(pools)
    this.clusters = byName(clusters)
    this.claims = byName(claims)
    this.customizations = byName(customizations)
    this.#cursed = new Set(failing)
    this.denied = new Set(denied)
    this.#registered = new Set(clusters.map(({ metadata }) => metadata.uid))
  }

  plan(poolName: string): Plan | undefined {
    const pool = this.pools.get(poolName)
    if (pool === undefined) return undefined
    const named = [...this.customizations.values()].flatMap(({ status }) => status?.clusterDeploymentRef ?? [])
    const observed = toObserved({
      pool,
      clusters: [...this.clusters.values()],
      claims: [...this.claims.values()],
      customizations: [...this.customizations.values()],
      absent: named.filter(({ name }) => !this.clusters.has(name)),
      creationFailures: this.#failuresOf(poolName),
    })
    return decide(observed, {
      now: minutes(this.#minute),
      suffix: () => {
        this.#suffix += 1
        return String(this.#suffix)
      },
    })
  }

  get now(): Date {
    return minutes(this.#minute)
  }

  /** A manager of the pool starts anew. */
  forget(poolName: string): void {
    this.#creationFailures.delete(poolName)
  }

  #failuresOf(poolName: string): Map<string, CreationFailure> {
    const known = this.#creationFailures.get(poolName) ?? new Map<string, CreationFailure>()
    this.#creationFailures.set(poolName, known)
    return known
  }

  /** Plans now and gives the writes one by one, to be done later. */
  begin(poolName: string): Steps {
    const seen = this.pools.get(poolName)?.metadata.resourceVersion
    return this.#carryOut(this.plan(poolName)?.actions ?? [], poolName, seen)
  }

  *#carryOut(actions: readonly Action[], poolName: string, seen: string | undefined): Steps {
    for (const action of actions) {
      try {
        yield* this.#execute(action, poolName, seen)
      } catch (error) {
        if (!(error instanceof Conflict || error instanceof Denied)) throw error
      }
    }
  }

  /** One whole pass. @returns what it did, besides waiting */
  pass(poolName: string): readonly string[] {
    const plan = this.plan(poolName)
    for (const _ of this.begin(poolName));
    if (plan === undefined) return []
    const { actions } = explain(plan)
    return actions.filter(({ action }) => action !== 'Wait').map(({ action, about }) => `${action} ${about}`)
  }

  /**
   * Passes and time until neither changes anything any more.
   * @param look Called after every pass.
   * @returns what is still done when that takes too long
   */
  runUntilStable(pools: readonly string[], look: () => void = () => undefined): readonly string[] {
    let done: readonly string[] = []
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      done = pools.flatMap((pool) => this.pass(pool))
      look()
      const waits = pools.some((pool) => this.plan(pool)?.recheckAt !== undefined)
      const moved = this.advance()
      if (done.length === 0 && !waits && !moved) return []
    }
    return done.length === 0 ? ['waits for ever'] : done
  }

  /** Time passes: clusters are installed or fail, wake up or fall asleep, and go. @returns whether anything changed */
  advance(by = 10): boolean {
    const before = this.#version
    this.#minute += by
    // What goes takes its time: clusters are registered while others are still there.
    for (const cluster of this.clusters.values()) this.#register(cluster)
    this.#doubleLeases.push(...this.#currentDoubleLeases())
    for (const cluster of this.clusters.values()) this.#live(cluster)
    return this.#version !== before
  }

  /** Customizations that more than one registered cluster has, or had when time passed. */
  doubleLeases(): readonly string[] {
    return [...this.#doubleLeases, ...this.#currentDoubleLeases()]
  }

  /**
   * Customizations that more than one registered cluster has; one that only its lease still holds is as good as gone, and one that is
   * not registered exists on paper only.
   */
  #currentDoubleLeases(): readonly string[] {
    const used = [...this.clusters.values()]
      .filter(
        ({ metadata }) =>
          this.#registered.has(metadata.uid) &&
          (metadata.deletionTimestamp === undefined || metadata.finalizers?.some((one) => one !== LEASE_FINALIZER)),
      )
      .flatMap(({ spec }) => spec.clusterPoolRef?.clusterDeploymentCustomization?.name ?? [])
    return used.filter((name, index) => used.indexOf(name) !== index)
  }

  /** Leases that were taken away before the grace was over and before their cluster was made. */
  earlyLosses(): readonly string[] {
    return this.#earlyLosses
  }

  /** As the bridge does it. */
  #register(cluster: ClusterDeployment): void {
    const { deletionTimestamp, uid } = cluster.metadata
    if (deletionTimestamp !== undefined || this.#registered.has(uid) || !this.#isLeasedTo(cluster)) return
    this.#registered.add(uid)
    const customization = this.customizations.get(
      cluster.spec.clusterPoolRef?.clusterDeploymentCustomization?.name ?? '',
    )
    if (customization !== undefined)
      this.#put(this.customizations, { ...customization, status: { ...customization.status, registeredUid: uid } })
  }

  #live(cluster: ClusterDeployment): void {
    const next = this.#lived(cluster)
    if (!isDeepStrictEqual(next, cluster)) this.#put(this.clusters, next)
  }

  #lived(cluster: ClusterDeployment): ClusterDeployment {
    const { metadata, spec, status } = cluster
    if (metadata.deletionTimestamp !== undefined) {
      const finalizers = (metadata.finalizers ?? []).filter((one) => one === LEASE_FINALIZER)
      return { ...cluster, metadata: { ...metadata, finalizers } }
    }
    if (status?.conditions?.some(({ type, status }) => type === 'ProvisionStopped' && status === 'True')) return cluster
    if (!this.#registered.has(metadata.uid)) return cluster
    const isCursed = this.#cursed.has(spec.clusterPoolRef?.clusterDeploymentCustomization?.name ?? '')
    if (!spec.installed && isCursed) return { ...cluster, status: aCluster('any', { state: 'broken' }).status ?? {} }
    return { ...cluster, spec: { ...spec, installed: true }, status: { ...status, powerState: spec.powerState } }
  }

  *#execute(action: Action, poolName: string, poolVersion: string | undefined): Steps {
    switch (action.action) {
      case 'WriteStatus': {
        yield
        const pool = current(this.pools, poolName, poolVersion)
        return this.#put(this.pools, { ...pool, status: action.status })
      }
      case 'CreateCluster': {
        const { cluster, customization, lease } = action
        if (customization !== undefined && lease === 'take') yield* this.#lease(customization, cluster, poolName)
        yield
        if (this.clusters.has(cluster.name)) return
        if (customization !== undefined && this.denied.has(customization.name)) {
          const failures = this.#failuresOf(poolName)
          const tried = {
            cluster: keyOf(cluster),
            version: customization.version,
            message: 'namespaces is forbidden',
            isLeased: true,
          }
          failures.set(customization.name, nextCreationFailure(failures.get(customization.name), tried, this.now))
          throw new Denied()
        }
        if (customization !== undefined) {
          this.#mustHold(customization.name, cluster)
          // The manager may sleep here, and the lease be given to another cluster meanwhile.
          yield
          this.#failuresOf(poolName).delete(customization.name)
        }
        if (this.clusters.has(cluster.name)) return
        this.#made.add(cluster.name)
        this.#put(this.clusters, this.#born(action, poolName))
        return
      }
      case 'DeleteCluster': {
        yield
        const cluster = current(this.clusters, action.cluster.name, action.cluster.resourceVersion)
        const metadata = { ...cluster.metadata, deletionTimestamp: minutes(this.#minute).toISOString() }
        return this.#put(this.clusters, { ...cluster, metadata })
      }
      case 'RepairLease':
        return yield* this.#lease(action.customization, action.cluster, poolName)
      case 'ReleaseLease':
        return yield* this.#release(action.customization)
      case 'RemoveClusterFinalizer': {
        if (action.customization !== undefined) yield* this.#release(action.customization)
        yield
        const cluster = current(this.clusters, action.cluster.name, action.cluster.resourceVersion)
        return this.#put(this.clusters, { ...cluster, metadata: { ...cluster.metadata, finalizers: [] } })
      }
      case 'AssignClaim': {
        if (action.claim.namespace === undefined) {
          yield
          const claim = current(this.claims, action.claim.name, action.claim.resourceVersion)
          const status = { ...claim.status, queuePosition: 0 }
          this.#put(this.claims, { ...claim, spec: { ...claim.spec, namespace: action.cluster.namespace }, status })
        }
        if (action.cluster.claim !== undefined) return
        yield
        const cluster = current(this.clusters, action.cluster.name, action.cluster.resourceVersion)
        const { clusterPoolRef } = cluster.spec
        if (clusterPoolRef === undefined) throw new Conflict()
        const spec: ClusterDeployment['spec'] = {
          ...cluster.spec,
          powerState: 'Running',
          clusterPoolRef: { ...clusterPoolRef, claimName: action.claim.name },
        }
        return this.#put(this.clusters, { ...cluster, spec })
      }
      case 'ClearClaim': {
        yield
        const claim = current(this.claims, action.claim.name, action.claim.resourceVersion)
        const { namespace: _, ...spec } = claim.spec
        return this.#put(this.claims, { ...claim, spec })
      }
      case 'QueueClaim': {
        yield
        const claim = current(this.claims, action.claim.name, action.claim.resourceVersion)
        const lastTransitionTime = minutes(this.#minute).toISOString()
        const pending = {
          type: 'Pending',
          status: 'True' as const,
          reason: 'NoClusters',
          message: action.why,
          lastTransitionTime,
        }
        const status = { ...claim.status, queuePosition: action.position, conditions: [pending] }
        return this.#put(this.claims, { ...claim, status })
      }
      case 'SetPower': {
        yield
        const cluster = current(this.clusters, action.cluster.name, action.cluster.resourceVersion)
        return this.#put(this.clusters, { ...cluster, spec: { ...cluster.spec, powerState: action.power } })
      }
      case 'RemovePoolFinalizer':
        yield
        this.pools.delete(poolName)
        return
      case 'BindAdmins':
      case 'BindProvider':
      case 'DeleteNamespace':
      case 'Wait':
    }
  }

  /** As the API server would store it, and the bridge would hold it. */
  #born(creation: Extract<Action, { action: 'CreateCluster' }>, poolName: string): ClusterDeployment {
    const pool = this.pools.get(poolName)
    if (pool === undefined) throw new Conflict()
    const { metadata, ...manifest } = deploymentManifest(pool, creation)
    const server = {
      uid: `uid-${metadata.name}-${this.#version}`,
      creationTimestamp: minutes(this.#minute).toISOString(),
      resourceVersion: '',
    }
    const finalizers = ['hive.openshift.io/deprovision', ...(metadata.finalizers ?? [])]
    return { ...manifest, metadata: { ...metadata, ...server, finalizers } }
  }

  /** The finalizer, then the lease itself; both need that no other client wrote in between. */
  *#lease({ name, resourceVersion }: CustomizationState, cluster: NamespacedName, poolName: string): Steps {
    yield
    const before = current(this.customizations, name, resourceVersion)
    this.#put(this.customizations, { ...before, metadata: { ...before.metadata, finalizers: [LEASE_FINALIZER] } })
    const version = this.customizations.get(name)?.metadata.resourceVersion
    yield
    const customization = current(this.customizations, name, version)
    const taken = holderConditions(poolName, cluster, {})
    const conditions = withConditions(conditionsFor(customization.status, cluster), taken, this.now)
    this.#noteHolder(name, cluster)
    this.#put(this.customizations, {
      ...customization,
      status: {
        conditions: conditions as NonNullable<ClusterDeploymentCustomization['status']>['conditions'] & {},
        clusterDeploymentRef: { name: cluster.name, namespace: cluster.namespace },
        clusterPoolRef: { name: poolName, namespace: NAMESPACE },
      },
    })
  }

  /** The lease, then its finalizer. */
  *#release({ name, resourceVersion }: CustomizationState): Steps {
    yield
    const before = current(this.customizations, name, resourceVersion)
    this.#noteHolder(name, undefined)
    this.#put(this.customizations, { ...before, status: { conditions: [this.#available()] } })
    const version = this.customizations.get(name)?.metadata.resourceVersion
    yield
    const released = current(this.customizations, name, version)
    this.#put(this.customizations, { ...released, metadata: { ...released.metadata, finalizers: [] } })
  }

  #available() {
    const lastTransitionTime = this.now.toISOString()
    return { type: 'Available', status: 'True' as const, reason: 'Any', message: '', lastTransitionTime }
  }

  /** The world's own clock of leases, whatever is written into them. */
  #noteHolder(name: string, cluster: NamespacedName | undefined): void {
    const before = this.#holders.get(name)
    if (before !== undefined && before.cluster === cluster?.name) return
    if (before !== undefined && !this.#made.has(before.cluster) && this.now.getTime() - before.since < LEASE_GRACE_MS)
      this.#earlyLosses.push(`${name}: ${before.cluster} lost it to ${cluster?.name ?? 'no cluster'}`)
    if (cluster === undefined) this.#holders.delete(name)
    else this.#holders.set(name, { cluster: cluster.name, since: this.now.getTime() })
  }

  #isLeasedTo({ metadata, spec }: ClusterDeployment): boolean {
    const leased = spec.clusterPoolRef?.clusterDeploymentCustomization?.name
    if (leased === undefined) return true
    const held = this.customizations.get(leased)?.status?.clusterDeploymentRef
    return held !== undefined && held.name === metadata.name
  }

  #mustHold(name: string, cluster: NamespacedName): void {
    const held = this.customizations.get(name)?.status?.clusterDeploymentRef
    if (held === undefined || keyOf(held) !== keyOf(cluster)) throw new Conflict()
  }

  #put<O extends KubeObject>(objects: Map<string, O>, object: O): void {
    const { metadata } = object
    this.#version += 1
    if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0) {
      objects.delete(metadata.name)
      return
    }
    objects.set(metadata.name, { ...object, metadata: { ...metadata, resourceVersion: `${this.#version}` } })
  }
}

const current = <O extends KubeObject>(
  objects: ReadonlyMap<string, O>,
  name: string,
  version: string | undefined,
): O => {
  const object = objects.get(name)
  if (object === undefined || object.metadata.resourceVersion !== version) throw new Conflict()
  return object
}
