/** Objects for tests: each call says only what matters to the test. Times are minutes since MORNING. */
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type {
  ClusterPool,
  ClusterPoolSpec,
  ClusterPoolStatus,
  InventoryEntry,
} from '#apis/hive.openshift.io/v1/clusterpool.ts'
import {
  CUSTOMIZATION_VERSION_ANNOTATION,
  LEASE_FINALIZER,
  POOL_FINALIZER,
  REMOVE_ANNOTATIONS,
  VERSION_ANNOTATION,
} from '#apis/hive.openshift.io/v1/labels.ts'
import type { Patch } from '#apis/hive.openshift.io/v1/patch.ts'
import { computePoolVersion } from '#controllers/clusterpool/cluster/pool-version.ts'
import type { PoolNamespace } from '#controllers/clusterpool/model/observed.ts'

export const NAMESPACE = 'pools'
const MORNING = new Date('2026-03-01T08:00:00Z')

export const minutes = (count: number): Date => new Date(MORNING.getTime() + count * 60_000)
const stamp = (count: number): string => minutes(count).toISOString().replace('.000Z', 'Z')

const meta = (name: string, at: number) => ({
  name,
  uid: `uid-${name}`,
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: stamp(at),
})

const condition = (type: string, status: 'True' | 'False' | 'Unknown', reason: string, at = 0, message = '') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: stamp(at),
})

interface PoolOptions extends Partial<Omit<ClusterPoolSpec, 'inventory'>> {
  readonly name?: string
  /** Names of customizations, in the order of the list. */
  readonly inventory?: readonly string[] | undefined
  readonly attempts?: number
  readonly entries?: Readonly<Record<string, InventoryEntry>>
  readonly status?: ClusterPoolStatus
  readonly deleted?: boolean
}

/** A pool that was seen before, on a cloud where clusters can sleep. */
export const aPool = ({
  name = 'pool',
  inventory,
  attempts = 3,
  entries,
  status,
  deleted,
  ...spec
}: PoolOptions = {}): ClusterPool => ({
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterPool',
  metadata: {
    ...meta(name, 0),
    namespace: NAMESPACE,
    finalizers: [POOL_FINALIZER],
    ...(deleted && { deletionTimestamp: stamp(0) }),
  },
  spec: {
    platform: { aws: { region: 'us-east-1' } },
    baseDomain: 'example.com',
    imageSetRef: { name: 'openshift-v4.20' },
    size: 1,
    runningCount: 0,
    staleReplacement: { maxConcurrent: 1 },
    ...(inventory !== undefined && {
      inventory: { ClusterDeploymentCustomizations: inventory.map((entry) => ({ name: entry })), attempts },
    }),
    ...spec,
  },
  status: { conditions: [], ...(entries !== undefined && { inventory: entries }), ...status },
})

interface ClusterOptions {
  /** When it was made, in minutes. */
  readonly at?: number
  readonly pool?: ClusterPool
  readonly state?: 'installing' | 'standby' | 'running' | 'broken'
  readonly wants?: ClusterDeployment['spec']['powerState']
  readonly claim?: string
  readonly marked?: boolean
  readonly deleting?: boolean
  /** Deprovisioned: only its lease holds it. */
  readonly ending?: boolean
  readonly customization?: string
  readonly customizationVersion?: string
  /** The pool version that it was made with; null: there is no record of it. */
  readonly version?: string | null
  readonly resumingSince?: number
  /** For how long its installation was watched, in minutes. */
  readonly watched?: number
  /** It waits for a quota: what its provider says. */
  readonly awaitsQuota?: string
  /** The present attempt at its installation fails: what its adapters say. */
  readonly fails?: string
  /** What is known of its API server, which answered until minute 0; it answers when absent. */
  readonly unreachable?: keyof typeof UNREACHABLE_CONDITIONS
}

const UNREACHABLE_CONDITIONS = {
  now: condition('Unreachable', 'True', 'ErrorConnectingToCluster'),
  'for long': condition('Unreachable', 'True', 'UnreachableForLong'),
  never: condition('Unreachable', 'Unknown', 'NotReachedYet'),
}

/** For how long it was asked in vain, in minutes. */
const SILENT_MINUTES = { now: 3, 'for long': 30, never: undefined }

/** A cluster of the pool, running unless something else is said. */
export const aCluster = (name: string, says: ClusterOptions = {}): ClusterDeployment => {
  const { at = 0, pool = aPool(), state = 'running', claim, customization } = says
  const version = says.version === undefined ? computePoolVersion(pool.spec) : says.version
  const isInstalled = state === 'standby' || state === 'running'
  const lease = customization === undefined ? [] : [LEASE_FINALIZER]
  return {
    apiVersion: 'hive.openshift.io/v1',
    kind: 'ClusterDeployment',
    metadata: {
      ...meta(name, at),
      namespace: name,
      finalizers: says.ending ? lease : ['hive.openshift.io/deprovision', ...lease],
      annotations: {
        ...(version !== null && { [VERSION_ANNOTATION]: version }),
        ...(customization !== undefined && {
          [CUSTOMIZATION_VERSION_ANNOTATION]: says.customizationVersion ?? versionOf(customization),
        }),
        ...(says.marked && { [REMOVE_ANNOTATIONS[0]]: 'true' }),
      },
      ...((says.deleting || says.ending) && { deletionTimestamp: stamp(at) }),
    },
    spec: {
      baseDomain: 'example.com',
      clusterName: name,
      platform: pool.spec.platform,
      installed: isInstalled || says.resumingSince !== undefined,
      powerState: says.wants ?? (state === 'standby' ? 'Hibernating' : 'Running'),
      clusterPoolRef: {
        namespace: pool.metadata.namespace ?? '',
        poolName: pool.metadata.name,
        ...(claim !== undefined && { claimName: claim }),
        ...(customization !== undefined && { clusterDeploymentCustomization: { name: customization } }),
      },
    },
    status: {
      conditions: [
        ...(state === 'broken'
          ? [condition('ProvisionStopped', 'True', 'InstallAttemptsLimitReached', at, 'no more tries')]
          : []),
        ...(says.fails === undefined
          ? []
          : [condition('ProvisionFailing', 'True', 'AdapterReportedFailure', at, says.fails)]),
        ...(says.resumingSince === undefined
          ? []
          : [condition('Hibernating', 'False', 'ResumingOrRunning', says.resumingSince)]),
        ...(says.awaitsQuota === undefined ? [] : [condition('Ready', 'False', 'QuotaExceeded', at, says.awaitsQuota)]),
        ...(says.unreachable === undefined ? [] : [UNREACHABLE_CONDITIONS[says.unreachable]]),
      ],
      ...(isInstalled && { powerState: state === 'running' ? 'Running' : 'Hibernating' }),
      ...(says.resumingSince !== undefined && { powerState: 'Resuming' }),
      ...(says.unreachable !== undefined &&
        SILENT_MINUTES[says.unreachable] !== undefined && {
          reachability: { uid: `uid-${name}`, silentSeconds: (SILENT_MINUTES[says.unreachable] ?? 0) * 60 },
        }),
      ...(says.watched !== undefined && {
        installWatch: { seconds: says.watched * 60, until: stamp(at + says.watched) },
      }),
    },
  }
}

interface ClaimOptions {
  readonly at?: number
  readonly pool?: string
  readonly namespace?: string
  readonly in?: string
  readonly deleting?: boolean
}

/** A claim that waits, unless `namespace` says where its cluster is. */
export const aClaim = (name: string, says: ClaimOptions = {}): ClusterClaim => ({
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterClaim',
  metadata: {
    ...meta(name, says.at ?? 0),
    namespace: says.in ?? NAMESPACE,
    ...(says.deleting && { deletionTimestamp: stamp(0) }),
  },
  spec: {
    clusterPoolName: says.pool ?? 'pool',
    ...(says.namespace !== undefined && { namespace: says.namespace }),
  },
})

interface CustomizationOptions {
  readonly patches?: readonly Patch[]
  readonly generation?: number
  /** The cluster that leases it, in the namespace of that name. */
  readonly cluster?: string
  readonly pool?: string
  readonly available?: boolean
  readonly since?: number
  readonly protected?: boolean
  readonly deleting?: boolean
}

/** A customization that is free and says so, or is leased as it should be when `cluster` is given. */
export const aCustomization = (name: string, says: CustomizationOptions = {}): ClusterDeploymentCustomization => {
  const { cluster, generation = 1, available = cluster === undefined } = says
  const isProtected = says.protected ?? cluster !== undefined
  return {
    apiVersion: 'hive.openshift.io/v1',
    kind: 'ClusterDeploymentCustomization',
    metadata: {
      ...meta(name, 0),
      namespace: NAMESPACE,
      generation,
      ...(isProtected && { finalizers: [LEASE_FINALIZER] }),
      ...(says.deleting && { deletionTimestamp: stamp(0) }),
    },
    spec: { installConfigPatches: [...(says.patches ?? [{ op: 'replace', path: '/metadata/name', value: name }])] },
    status: {
      conditions: [condition('Available', available ? 'True' : 'False', 'Any', says.since ?? 0)],
      ...(cluster !== undefined && {
        clusterDeploymentRef: { name: cluster, namespace: cluster },
        clusterPoolRef: { name: says.pool ?? 'pool', namespace: NAMESPACE },
      }),
    },
  }
}

/** A namespace of the pool that was made so many minutes after the morning and is empty. */
export const aNamespace = (name: string, at = 0): PoolNamespace => ({
  name,
  uid: `uid-${name}`,
  createdAt: minutes(at).getTime(),
  terminating: false,
  isOfEarlierPool: false,
  isUsed: false,
  wasUsed: false,
  admins: undefined,
  providerBindings: [],
})

/** The version of a customization that `aCustomization` made. */
export const versionOf = (name: string, generation = 1): string => `${generation}.uid-${name}`

/** A patch that can't be applied. */
export const BAD_PATCH: Patch = { op: 'replace', path: '/metadata/nope', value: 'x' }
