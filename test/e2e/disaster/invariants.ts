/** What must hold whatever went back in time, and what is still to come right. Pure; each gives a sentence for each finding. */
import { notYet } from '#test/worlds/suite/as-declared.ts'
import type { DeclaredPool } from '#test/worlds/suite/declared.ts'
import { doubleClaims, doubleLeases, doubleRecords, orphans } from '#test/worlds/suite/observer/invariants.ts'
import { clusterOf, type KubeSight, nameOf, type RecordSight } from '#test/worlds/suite/observer/sights.ts'

/** What people want. */
export interface Declared {
  /** By name. */
  readonly pools: ReadonlyMap<string, DeclaredPool>
  /** Names of Deployments of the fleet for the machines. */
  readonly programs: readonly string[]
}

/** What was seen at one moment. */
export interface Sight {
  readonly objects: Readonly<Record<string, readonly KubeSight[]>>
  readonly records: readonly RecordSight[]
  /** In NATS, `<bucket> <key>`. */
  readonly keys: readonly string[]
  /** Numbers of the programs that run. */
  readonly programs: readonly number[]
  /** Those that must go on. */
  readonly kept: readonly number[]
  /** The customization of each cluster that was ever seen, by the names of its ClusterDeployment. */
  readonly customizations: ReadonlyMap<string, string>
  /** Names of clusters whose ClusterDeployment ever said that their record is gone. */
  readonly lost: ReadonlySet<string>
}

export const violationsOf = (sight: Sight, declared: Declared): readonly string[] => {
  const clusters = (sight.objects.ClusterDeployment ?? []).map(clusterOf)
  return [
    ...doubleLeases(clusters),
    ...doubleClaims(clusters),
    ...doubleRecords(sight.records),
    ...sharedCustomizations(sight),
    ...unwantedDeletions(sight, declared),
    ...brokenHolds(sight),
    ...sight.kept.filter((number) => !sight.programs.includes(number)).map((number) => `the program ${number} ended`),
  ]
}

/**
 * A customization is in one cluster of the HyperFleet API, also when Kubernetes has forgotten that cluster: a ClusterDeployment can be gone,
 * machines with its name in DNS are not. One that is taken down comes to nothing more: `doubleLeases` has it as long as Kubernetes knows it.
 */
const sharedCustomizations = ({
  records,
  customizations,
}: Pick<Sight, 'records' | 'customizations'>): readonly string[] =>
  [
    ...Map.groupBy(
      records.filter(({ isDeleting }) => !isDeleting),
      ({ registeredFor }) => customizations.get(registeredFor),
    ),
  ].flatMap(([name, users]) =>
    name === undefined || users.length < 2
      ? []
      : [`the customization ${name} is in the clusters ${users.map(({ id }) => id).join(' and ')}`],
  )

/** Clusters that are deleted though a claim or a pool wants them. A pool gives one up that the HyperFleet API has no more. */
const unwantedDeletions = (
  { objects, lost }: Pick<Sight, 'objects' | 'lost'>,
  { pools }: Pick<Declared, 'pools'>,
): readonly string[] => {
  const claims = new Set([...pools.values()].flatMap((pool) => pool.claims))
  return (objects.ClusterDeployment ?? []).flatMap((object) => {
    const { isDeleting, claim } = clusterOf(object)
    if (!isDeleting || lost.has(nameOf(object))) return []
    const name = claim?.split('/')[1]
    if (name !== undefined)
      return claims.has(name) ? [`the cluster ${nameOf(object)} is deleted, and the claim ${name} wants it`] : []
    const pool = object.metadata.labels?.['hive.openshift.io/clusterpool-name'] ?? ''
    return pools.get(pool)?.size === undefined ? [] : [`the cluster ${nameOf(object)} is deleted, and ${pool} wants it`]
  })
}

/** By what a person releases what a pool holds. */
const RELEASE = 'hive.openshift.io/release-deletions'

/**
 * What the brake of a pool holds is listed: as many as it counts, each by its name; and none of it goes unless a person releases the list.
 */
export const brokenHolds = ({ objects }: Pick<Sight, 'objects'>): readonly string[] =>
  (objects.ClusterPool ?? []).flatMap((pool) => {
    const { conditions = [] } = (pool.status ?? {}) as Conditions
    const held = conditions.find(({ type, status }) => type === 'DeletionsHeld' && status === 'True')
    const [, count, limit, list = ''] = HELD.exec(held?.message ?? '') ?? []
    if (held === undefined) return []
    if (count === undefined) return [`the pool ${nameOf(pool)} holds deletions and lists none: ${held.message}`]
    const listed = new Set([...list.matchAll(/(?:^|, )([a-z0-9-]+) \(/g)].map(([, name = '']) => name))
    const more = Number(/ and (\d+) more$/.exec(list)?.[1] ?? 0)
    const unlisted =
      listed.size + more === Number(count)
        ? []
        : [`the pool ${nameOf(pool)} holds ${count} deletions and lists ${listed.size} and ${more} more`]
    const released = pool.metadata.annotations?.[RELEASE] !== undefined
    const going = (objects.ClusterDeployment ?? []).filter(({ metadata }) => {
      return listed.has(metadata.name) && metadata.deletionTimestamp !== undefined
    })
    // Fewer would not be held, and some of those that were listed may have gone for another reason: of all no one knows.
    const isBroken = !released && going.length > Number(limit)
    return [
      ...unlisted,
      ...(isBroken ? [`the pool ${nameOf(pool)} deletes what it holds: ${going.map(nameOf).join(', ')}`] : []),
    ]
  })

/** How many, more than how many at once, and which. */
const HELD = /^(\d+) clusters? .* more than (\d+) at once are held: (.*?)\. Find out/

interface Conditions {
  readonly conditions?: readonly {
    readonly type: string
    readonly status: string
    readonly reason?: string
    readonly message?: string
  }[]
}

/** Whether the HyperFleet API has the cluster of a ClusterDeployment no more. */
export const isRecordGone = ({ status }: KubeSight): boolean =>
  ((status as Conditions | undefined)?.conditions ?? []).some(({ reason }) => reason === 'RecordGone')

/** What is not as people want it yet: pools, claims and rollouts; programs; and what belongs to nothing. */
export const missingFrom = (sight: Sight, { pools, programs }: Declared, machines: number): readonly string[] => {
  const all = sight.objects
  const isProgram = ({ metadata }: KubeSight): boolean => programs.includes(metadata.name)
  const clusters = (all.ClusterDeployment ?? []).map(clusterOf)
  const registered = new Set(sight.records.map(({ registeredFor }) => registeredFor))
  return [
    ...notYet(pools, (kind) => (all[kind] ?? []).filter((object) => kind !== 'Deployment' || !isProgram(object))),
    ...programs.flatMap((name) => unfinished(name, all.Deployment ?? [], machines)),
    ...clusters.filter(({ name }) => !registered.has(name)).map(({ name }) => `the cluster ${name} has no record`),
    ...orphans({
      clusters,
      records: sight.records,
      applied: new Map(),
      // What a device said that Kubernetes has forgotten stays: nothing runs by it.
      keys: sight.keys.filter((key) => key.startsWith('fleet-desired ')),
      devices: (all.Device ?? []).map(nameOf),
      deployments: (all.Deployment ?? []).map(nameOf),
    }),
  ]
}

const unfinished = (name: string, deployments: readonly KubeSight[], machines: number): readonly string[] => {
  const found = deployments.find(({ metadata }) => metadata.name === name)
  if (found === undefined) return [`Deployment ${name} is not there`]
  const { aggregate, observedGeneration } = (found.status ?? {}) as {
    readonly observedGeneration?: number
    readonly aggregate?: Readonly<Record<string, number>>
  }
  const isDone = observedGeneration === found.metadata.generation && aggregate?.succeeded === machines
  return isDone ? [] : [`Deployment ${name} runs on ${aggregate?.succeeded ?? 0} of ${machines} machines`]
}
