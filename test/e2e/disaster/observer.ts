/**
 * Looks on while things go back in time: it asks the API server, the HyperFleet API, NATS and the machine's processes again and again, and
 * rests on no watch, because a server that went back tells a watch nothing. None of the controllers' code. What it finds wrong it keeps.
 */
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import type { Rest } from '#test/harness/connection.ts'
import { type Call, readRecords } from '#test/worlds/suite/observer/hyperfleet.ts'
import { keyReader } from '#test/worlds/suite/observer/keys.ts'
import { KINDS } from '#test/worlds/suite/observer/kinds.ts'
import { type ClusterSight, clusterOf, type KubeSight, nameOf } from '#test/worlds/suite/observer/sights.ts'
import type { Timeline } from '#test/worlds/suite/timeline.ts'
import { goneWhileHeld, type ShownLists, withShown } from './held-stays.ts'
import { type BrakeSight, type Hold, holdsOf, unlisted } from './holds.ts'
import { type Declared, emptySight, isRecordGone, type Sight, surplusIn, violationsOf } from './invariants.ts'

export interface ObserverOptions {
  readonly rest: Rest
  readonly call: Call
  readonly natsUrl: string
  /** The arguments of the programs that are to go on. */
  readonly program: string
  /** Those of the others, before `.` and the version. */
  readonly brief: string
  /** Of the managers, by what their brakes hold. */
  readonly metricsUrls: Readonly<Record<Brake, string>>
  readonly timeline: Timeline
  /** What people want at this moment. */
  declared(): Declared
}

export interface DisasterObserver extends AsyncDisposable {
  /** Everything that was wrong so far, each once. */
  violations(): readonly string[]
  /** As it was seen last; what did not answer, as it was before. */
  sight(): Sight
  /** Resolves when everything that answers has been looked at from now on. */
  look(): Promise<void>
  /** What brakes hold, as they say themselves now. @throws when one of them does not answer */
  holds(): Promise<readonly Hold[]>
  /** What they hold and don't list, and the other way round. @throws when one of them does not answer */
  unlisted(): Promise<readonly string[]>
  /** From now on each of the programs that run must go on, until others are declared. */
  keepPrograms(): void
  releasePrograms(): void
}

/** Between two looks, in milliseconds. */
const POLL_INTERVAL_MS = 600

const { ClusterPool, ...STORED } = KINDS

/** What is looked at beside what holds. */
const STORED_KINDS = {
  ...STORED,
  AdapterInventory: '/apis/hyperfleet.redhat.com/v1alpha1/adapterinventories',
} as const

/** What says which deletions it holds. */
const HOLDING_KINDS = {
  ClusterPool,
  AdapterTask: '/apis/hyperfleet.redhat.com/v1alpha1/adaptertasks',
} as const

/** Of what adapters apply: the id of the resource that it is for. */
const RESOURCE_LABEL = 'muster.dev/resource-id'

/** Kinds that the tasks of this world apply. */
const APPLIED_KINDS = {
  Namespace: '/api/v1/namespaces',
  ConfigMap: '/api/v1/configmaps',
  Secret: '/api/v1/secrets',
  Job: '/apis/batch/v1/jobs',
} as const

const BRAKE_METRICS = {
  fleet: 'muster_fleet_orphans_waiting',
  ClusterPool: 'muster_clusterpool_deletions_held',
  AdapterTask: 'hyperfleet_adapter_deletions_held',
} as const

/** What holds. */
export type Brake = keyof typeof BRAKE_METRICS

export const startObserver = async (options: ObserverOptions): Promise<DisasterObserver> => {
  const { rest, call, natsUrl, program, brief, metricsUrls, timeline, declared } = options
  const ending = new AbortController()
  const violations = new Set<string>()
  const customizations = new Map<string, string>()
  const lost = new Set<string>()
  let sight: Sight = { ...emptySight, customizations, lost }
  let shown: ShownLists = new Map()

  const objectsOf = async (kind: string, path: string): Promise<readonly KubeSight[]> =>
    // Items of a list don't say their kind.
    (await rest<{ items: readonly KubeSight[] }>('GET', path)).items.map((item) => ({ ...item, kind }))
  const appliedObjects = async (): Promise<Sight['applied']> => {
    const found = await Promise.all(
      Object.entries(APPLIED_KINDS).map(([kind, path]) => objectsOf(kind, `${path}?labelSelector=${RESOURCE_LABEL}`)),
    )
    return new Map(
      found
        .flat()
        .map((object) => [`${object.kind} ${nameOf(object)}`, object.metadata.labels?.[RESOURCE_LABEL] ?? '']),
    )
  }
  const readMetric = async (brake: Brake): Promise<number> => {
    using limit = new AbortScope().within(5_000)
    const text = await (await fetch(metricsUrls[brake], { signal: limit.signal })).text()
    const lines = text.split('\n').filter((line) => new RegExp(`^${BRAKE_METRICS[brake]}[ {]`).test(line))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  const newestFleetEvent = async (): Promise<EventSight | undefined> => {
    const { items } = await rest<{ items: readonly EventSight[] }>('GET', EVENTS)
    return items.toSorted((a, b) => timeOf(a) - timeOf(b)).at(-1)
  }
  const keep = async <T>(read: () => Promise<T>, before: T): Promise<T> => read().catch(() => before)

  const objectsBy = async (kinds: Readonly<Record<string, string>>): Promise<Sight['objects']> => {
    const { objects } = sight
    const found = await Promise.all(
      Object.entries(kinds).map(
        async ([kind, path]) => [kind, await keep(() => objectsOf(kind, path), objects[kind] ?? [])] as const,
      ),
    )
    return Object.fromEntries(found)
  }
  const readFleetBrake = async (): Promise<Sight['fleetBrake']> => {
    const { note, regarding } = (await newestFleetEvent()) ?? {}
    if (regarding === undefined) return emptySight.fleetBrake
    const message = (await readMetric('fleet')) === 0 ? undefined : note
    const lease = `/apis/coordination.k8s.io/v1/namespaces/${regarding.namespace}/leases/${regarding.name}`
    const { metadata } = await rest<KubeSight>('GET', lease)
    // Also when nothing is held any more: what was released goes before the next look.
    return { message, released: metadata.annotations?.[FLEET_RELEASE] ?? '' }
  }
  const processes = processTable()
  const nats = keyReader(natsUrl)

  const look = async (): Promise<void> => {
    const before = sight
    const [objects, applied, records, nodePools, keys, running] = await Promise.all([
      objectsBy(STORED_KINDS),
      keep(appliedObjects, before.applied),
      keep(() => readRecords(call), before.records),
      keep(() => readNodePools(call), before.nodePools),
      keep(nats.read, before.keys),
      processes(),
    ])
    for (const { name, customization } of (objects.ClusterDeployment ?? []).map(clusterOf) as readonly ClusterSight[])
      if (customization !== undefined) customizations.set(name, customization)
    for (const cluster of objects.ClusterDeployment ?? []) if (isRecordGone(cluster)) lost.add(nameOf(cluster))
    for (const name of surplusIn(objects, declared())) lost.add(name)
    // What holds after what it holds: what is gone by then, and was held before and not released now, went while it was held.
    const [holding, fleetBrake] = await Promise.all([objectsBy(HOLDING_KINDS), keep(readFleetBrake, before.fleetBrake)])
    sight = {
      objects: { ...objects, ...holding },
      applied,
      records,
      nodePools,
      keys,
      programs: [...running].filter(([, line]) => line === program).map(([number]) => number),
      brief: new Map(
        [...Map.groupBy(running.values(), (line) => (line.startsWith(`${brief}.`) ? line : ''))].flatMap(
          ([line, all]) => (line === '' ? [] : [[Number(line.slice(brief.length + 1)), all.length] as const]),
        ),
      ),
      kept: sight.kept,
      customizations,
      lost,
      fleetBrake,
    }
    shown = withShown(shown, sight)
    for (const one of [...violationsOf(sight, declared()), ...goneWhileHeld(before, sight, shown)]) {
      if (violations.has(one)) continue
      violations.add(one)
      timeline.note(`VIOLATION: ${one}`)
    }
  }
  let looking = look()
  const observeOnce = (): Promise<void> => {
    looking = looking.then(look)
    return looking
  }
  const following = (async () => {
    while (!ending.signal.aborted) {
      await observeOnce()
      await delay(POLL_INTERVAL_MS)
    }
  })()
  await looking
  const lookAtBrakes = async (): Promise<BrakeSight> => {
    const brakes = Object.keys(BRAKE_METRICS) as Brake[]
    const metrics = await Promise.all(brakes.map(async (brake) => [brake, await readMetric(brake)] as const))
    return { metrics: Object.fromEntries(metrics), fleetMessage: (await newestFleetEvent())?.note }
  }
  return {
    violations: () => [...violations],
    sight: () => sight,
    look: observeOnce,
    holds: async () => {
      await observeOnce()
      return holdsOf(sight, await lookAtBrakes())
    },
    unlisted: async () => {
      await observeOnce()
      return unlisted(sight, await lookAtBrakes())
    },
    keepPrograms: () => {
      sight = { ...sight, kept: sight.programs }
    },
    releasePrograms: () => {
      sight = { ...sight, kept: [] }
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await following
      await nats[Symbol.asyncDispose]()
    },
  }
}

/** Of the fleet's brake. */
const EVENTS = '/apis/events.k8s.io/v1/events?fieldSelector=reason=OrphansHeld,regarding.kind=Lease'

/** On the Lease that they regard. */
const FLEET_RELEASE = 'fleet.nationtech.io/release-deletions'

interface EventSight {
  readonly note?: string
  readonly regarding?: { readonly namespace: string; readonly name: string }
  readonly metadata: { readonly creationTimestamp: string }
  readonly eventTime?: string
  readonly series?: { readonly lastObservedTime: string }
}

const timeOf = ({ metadata, eventTime, series }: EventSight): number =>
  Date.parse(series?.lastObservedTime ?? eventTime ?? metadata.creationTimestamp)

const readNodePools = async (call: Call): Promise<readonly string[]> => {
  const list = await call<{ items: readonly { readonly id: string }[] }>('GET', '/api/hyperfleet/v1/nodepools?size=100')
  return (list?.items ?? []).map(({ id }) => id)
}

/** Arguments with spaces between them, by the number of each process of this machine. What has not changed since the last look is not read again. */
const processTable = (): (() => Promise<ReadonlyMap<number, string>>) => {
  let settled: ReadonlyMap<number, string> = new Map()
  let before: ReadonlyMap<number, string> = new Map()
  const read = (number: number) => readFile(`/proc/${number}/cmdline`, 'utf8').catch(() => '')
  return async () => {
    const numbers = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
    const lines = await Promise.all(
      numbers.map(async (number) => {
        return settled.get(number) ?? (await read(number)).replace(/\0+$/, '').replaceAll('\0', ' ')
      }),
    )
    const now = new Map(numbers.map((number, index) => [number, lines[index] ?? '']))
    // A process that was just begun has the arguments of the one that began it.
    settled = new Map([...now].filter(([number, line]) => before.get(number) === line))
    before = now
    return now
  }
}
