/** What must hold whatever went back in time, and what is still to come right. Pure; each gives a sentence for each finding. */
import { notYet } from '#test/worlds/suite/as-declared.ts'
import type { DeclaredPool } from '#test/worlds/suite/declared.ts'
import { doubleClaims, doubleLeases, doubleRecords, orphans } from '#test/worlds/suite/observer/invariants.ts'
import { clusterOf, type KubeSight, nameOf, type RecordSight } from '#test/worlds/suite/observer/sights.ts'

/** What people want. */
export interface Declared {
  /** By name. */
  readonly pools: ReadonlyMap<string, DeclaredPool>
  /** Deployments of the fleet for the machines, with the version of each. */
  readonly programs: ReadonlyMap<string, number>
}

/** What was seen at one moment. */
export interface Sight {
  readonly objects: Readonly<Record<string, readonly KubeSight[]>>
  readonly records: readonly RecordSight[]
  /** Their ids in the HyperFleet API. */
  readonly nodePools: readonly string[]
  /** What carries the id of a resource of the API, `<kind> <name>`, with that id. */
  readonly applied: ReadonlyMap<string, string>
  /** In NATS, `<bucket> <key>`. */
  readonly keys: readonly string[]
  /** Numbers of the programs that run and that are to go on. */
  readonly programs: readonly number[]
  /** How many of the others run, by version. */
  readonly brief: ReadonlyMap<number, number>
  /** Those that must go on. */
  readonly kept: readonly number[]
  /** The customization of each cluster that was ever seen, by the names of its ClusterDeployment. */
  readonly customizations: ReadonlyMap<string, string>
  /** Names of clusters whose ClusterDeployment ever said that their record is gone, and of those that were ever one too many. */
  readonly lost: ReadonlySet<string>
  /** What the brake of the fleet says while it holds, and the lists that a person released, separated by commas. */
  readonly fleetBrake: { readonly message: string | undefined; readonly released: string }
}

/** Nothing was seen yet. */
export const emptySight: Sight = {
  objects: {},
  records: [],
  nodePools: [],
  applied: new Map(),
  keys: [],
  programs: [],
  brief: new Map(),
  kept: [],
  customizations: new Map(),
  lost: new Set(),
  fleetBrake: { message: undefined, released: '' },
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

/**
 * Names of clusters that a pool deletes because it has all it wants without them: as many unclaimed ones as its size, each older than the
 * deletion, so none that was made for the one that goes. A claim that is withdrawn before it got its cluster leaves one too many.
 */
export const surplusIn = (objects: Sight['objects'], { pools }: Pick<Declared, 'pools'>): readonly string[] => {
  const poolOf = ({ metadata }: KubeSight) => metadata.labels?.['hive.openshift.io/clusterpool-name'] ?? ''
  const free = (objects.ClusterDeployment ?? []).filter((object) => clusterOf(object).claim === undefined)
  return free.flatMap((object) => {
    const { deletionTimestamp } = object.metadata
    if (deletionTimestamp === undefined) return []
    const older = free.filter(
      (other) =>
        poolOf(other) === poolOf(object) &&
        !clusterOf(other).isDeleting &&
        Date.parse(other.metadata.creationTimestamp ?? '') < Date.parse(deletionTimestamp),
    )
    return older.length >= (pools.get(poolOf(object))?.size ?? 0) ? [nameOf(object)] : []
  })
}

/** By what a person releases what a pool holds. */
const RELEASE = 'hive.openshift.io/release-deletions'

/**
 * What the brake of a pool holds is listed: as many as it counts, each by its name; and none of it goes unless a person releases the list.
 */
export const brokenHolds = ({ objects }: Pick<Sight, 'objects'>): readonly string[] =>
  (objects.ClusterPool ?? []).flatMap((pool) => {
    const held = findCondition(pool, 'DeletionsHeld')
    const [, count, limit, list = ''] = HELD.exec(held?.message ?? '') ?? []
    if (held?.status !== 'True') return []
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

export const findCondition = ({ status }: KubeSight, type: string) =>
  ((status as Conditions | undefined)?.conditions ?? []).find((one) => one.type === type)

/** Whether the HyperFleet API has the cluster of a ClusterDeployment no more. */
export const isRecordGone = ({ status }: KubeSight): boolean =>
  ((status as Conditions | undefined)?.conditions ?? []).some(({ reason }) => reason === 'RecordGone')

/** Names of programs begin so that end when they change, or are not declared any more; all others go on. */
export const BRIEF = 'brief'

/**
 * What is not as people want it yet: pools, claims and rollouts; programs; what adapters are to apply; what belongs to nothing; and what is
 * held, with the sentence of each brake.
 */
export const missingFrom = (
  sight: Sight,
  { pools, programs }: Declared,
  machines: readonly string[],
): readonly string[] => {
  const all = sight.objects
  const isProgram = ({ metadata }: KubeSight): boolean => programs.has(metadata.name)
  const clusters = (all.ClusterDeployment ?? []).map(clusterOf)
  const registered = new Set(sight.records.map(({ registeredFor }) => registeredFor))
  return [
    ...notYet(pools, (kind) => (all[kind] ?? []).filter((object) => kind !== 'Deployment' || !isProgram(object))),
    ...[...programs.keys()].flatMap((name) => unfinished(name, all.Deployment ?? [], machines.length)),
    ...[...programs.keys()].flatMap((name) => unsaid(name, all.Deployment ?? [], sight.keys, machines)),
    ...otherPrograms(sight.brief, programs, machines.length),
    ...[...(all.ClusterPool ?? []), ...(all.AdapterTask ?? [])].flatMap((object) => {
      const held = findCondition(object, 'DeletionsHeld')
      return held?.status === 'True' ? [`${object.kind} ${nameOf(object)} holds deletions: ${held.message}`] : []
    }),
    ...sight.nodePools
      .filter((id) => !sight.applied.values().some((of) => of === id))
      .map((id) => `nothing is applied for the node pool ${id}`),
    ...clusters.filter(({ name }) => !registered.has(name)).map(({ name }) => `the cluster ${name} has no record`),
    ...orphans({
      clusters,
      records: sight.records,
      applied: new Map([...sight.applied].filter(([, id]) => !sight.nodePools.includes(id))),
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

/** What the operator and the agents have in NATS of a program. */
const unsaid = (
  name: string,
  deployments: readonly KubeSight[],
  keys: readonly string[],
  machines: readonly string[],
): readonly string[] => {
  const found = deployments.find(({ metadata }) => metadata.name === name)
  return machines
    .flatMap((machine) => [`fleet-desired ${machine}`, `fleet-state ${machine}`])
    .map((key) => `${key}.${found?.metadata.namespace}.${name}`)
    .filter((key) => found !== undefined && !keys.includes(key))
    .map((key) => `NATS does not have ${key}`)
}

/** Programs of another version than is declared run, or too few or too many. */
const otherPrograms = (
  running: Sight['brief'],
  programs: Declared['programs'],
  machines: number,
): readonly string[] => {
  const wanted = new Map<number, number>()
  for (const [name, version] of programs)
    if (name.startsWith(BRIEF)) wanted.set(version, (wanted.get(version) ?? 0) + machines)
  return [...new Set([...running.keys(), ...wanted.keys()])].flatMap((version) => {
    const [there, due] = [running.get(version) ?? 0, wanted.get(version) ?? 0]
    return there === due ? [] : [`${there} programs of version ${version} run on the machines, not ${due}`]
  })
}
