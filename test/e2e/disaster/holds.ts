/**
 * What brakes say that they hold (RUNTIME-47), and what they are to hold by what is there: none of their own reckoning. Everything that is
 * held is listed, and nothing else. Pure; a sentence for each finding.
 */
import { DELETION_BRAKE } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { type ClusterSight, clusterOf, type KubeSight, nameOf } from '#test/worlds/suite/observer/sights.ts'
import { findCondition, isRecordGone, type Sight } from './invariants.ts'

/** What one brake says. */
export interface Hold {
  /** `fleet`, `ClusterPool <namespace>/<name>` or `AdapterTask <namespace>/<name>`. */
  readonly brake: string
  readonly count: number
  /** How many deletions it lists, by the name of what they belong to; a part of them when it says `and 3 more`. */
  readonly named: ReadonlyMap<string, number>
  readonly saysMore: boolean
  /** The names of the list, by which a person releases it. */
  readonly releases: readonly string[]
}

/** What the brakes' metrics and the events of the fleet's brake say. */
export interface BrakeSight {
  /** Sums, by `fleet`, `ClusterPool` and `AdapterTask`. */
  readonly metrics: Readonly<Record<string, number>>
  /** The newest event of the fleet's brake; it stays when nothing is held any more. */
  readonly fleetMessage: string | undefined
}

/** Nothing is held by one whose message says nothing of it: such a message is a finding by itself, because nothing else has its name. */
export const holdsOf = (
  { objects }: Pick<Sight, 'objects'>,
  { metrics, fleetMessage }: BrakeSight,
): readonly Hold[] => [
  ...(objects.ClusterPool ?? []).flatMap((pool) => holdOf(pool, POOL_LIST, /(?:held: |, )([a-z0-9-]+) \(/g)),
  ...(objects.AdapterTask ?? []).flatMap((task) => holdOf(task, TASK_LISTS, /(?:: |, )([a-z0-9-]+)(?=,|;|\.| and )/g)),
  ...((metrics.fleet ?? 0) > 0 ? [fleetHold(fleetMessage ?? '')] : []),
]

const POOL_LIST = /^(\d+) clusters /
/** Of what the API does not have, and of what the task does not select. */
const TASK_LISTS = /(\d+) resources any more/g

const holdOf = (object: KubeSight, counts: RegExp, names: RegExp): readonly Hold[] => {
  const held = findCondition(object, 'DeletionsHeld')
  if (held?.status !== 'True') return []
  const message = held.message ?? ''
  const count = [...message.matchAll(new RegExp(counts, 'g'))].reduce((sum, [, number]) => sum + Number(number), 0)
  // What follows says what to do.
  const list = message.replace(/\. (?:Find out|More than).*$/, '.')
  const named = new Map([...list.matchAll(names)].map(([, name = '']) => [name, 1]))
  const saysMore = / and \d+ more/.test(list)
  return [{ brake: `${object.kind} ${nameOf(object)}`, count, named, saysMore, releases: releasesIn(message) }]
}

const fleetHold = (message: string): Hold => {
  const count = Number(/^nothing needs (\d+) of/.exec(message)?.[1] ?? 0)
  const named = new Map<string, number>()
  for (const [, name = '', number] of message.matchAll(/([a-z0-9-]+\/[a-z0-9.-]+) on (\d+) devices? \(/g))
    named.set(name, (named.get(name) ?? 0) + Number(number))
  return { brake: 'fleet', count, named, saysMore: /, and \d+ more\./.test(message), releases: releasesIn(message) }
}

const releasesIn = (message: string): readonly string[] =>
  /release-deletions=([0-9a-f,]+)/.exec(message)?.[1]?.split(',') ?? []

/** What a brake is to hold when it is more than it lets through. */
interface Due {
  /** How many deletions, by the name of what they belong to. */
  readonly deletions: ReadonlyMap<string, number>
  readonly limit: number
}

/** RUNTIME-47 and POOL-53: a tenth of all, and at least so many. */
const limitOf = (all: number, { percent, least }: { readonly percent: number; readonly least: number }): number =>
  Math.max(least, Math.floor((all * percent) / 100))

const MOST_BRAKES = { percent: 10, least: 20 }

/** By the brake's name: what nothing wants any more, though no person deleted it. */
export const duesOf = (sight: Sight): ReadonlyMap<string, Due> =>
  new Map([
    ...(sight.objects.ClusterPool ?? []).map((pool) => [`ClusterPool ${nameOf(pool)}`, poolDue(pool, sight)] as const),
    ...(sight.objects.AdapterTask ?? []).map((task) => [`AdapterTask ${nameOf(task)}`, taskDue(task, sight)] as const),
    ['fleet', fleetDue(sight)],
  ])

/** Clusters that no claim has, and that the HyperFleet API lost. */
const poolDue = (pool: KubeSight, { objects }: Sight): Due => {
  const { name, namespace } = pool.metadata
  const own = (objects.ClusterDeployment ?? []).filter(({ metadata, spec }) => {
    const ref = (spec as { readonly clusterPoolRef?: { readonly namespace: string } }).clusterPoolRef
    return ref?.namespace === namespace && metadata.labels?.[POOL_LABEL] === name
  })
  const isLost = (object: KubeSight): boolean => {
    const { isDeleting, claim }: ClusterSight = clusterOf(object)
    return !isDeleting && claim === undefined && isRecordGone(object)
  }
  const { deletionBrake } = pool.spec as { readonly deletionBrake?: Partial<typeof DELETION_BRAKE> }
  return {
    deletions: new Map(own.filter(isLost).map(({ metadata }) => [metadata.name, 1])),
    limit: limitOf(own.length, { ...DELETION_BRAKE, ...deletionBrake }),
  }
}

const POOL_LABEL = 'hive.openshift.io/clusterpool-name'

/** Resources that were applied for, and that the HyperFleet API has no more; none of a task that is to keep what is applied for such. */
const taskDue = (task: KubeSight, { objects, records, nodePools }: Sight): Due => {
  const { namespace, name } = task.metadata
  const { retention } = task.spec as { readonly retention?: { readonly whenResourceGone?: string } }
  const there = new Set([...records.map(({ id }) => id), ...nodePools])
  const applied = (objects.AdapterInventory ?? []).flatMap(({ metadata, spec }) => {
    const { task: of, resourceId } = spec as { readonly task: string; readonly resourceId: string }
    return metadata.namespace === namespace && of === name ? [resourceId] : []
  })
  const gone = retention?.whenResourceGone === 'Keep' ? [] : applied.filter((id) => !there.has(id))
  return { deletions: new Map(gone.map((id) => [id, 1])), limit: limitOf(applied.length, MOST_BRAKES) }
}

/** Keys whose Deployment or Device is not there. */
const fleetDue = ({ objects, keys }: Sight): Due => {
  const deployments = new Set((objects.Deployment ?? []).map(nameOf))
  const devices = new Set((objects.Device ?? []).map(nameOf))
  const desired = keys.flatMap((key) => {
    const [device = '', namespace, name] = /^fleet-desired (.*)$/.exec(key)?.[1]?.split('.') ?? []
    return name === undefined ? [] : [{ device, of: `${namespace}/${name}` }]
  })
  const ownerless = desired.filter(({ device, of }) => !devices.has(device) || !deployments.has(of))
  const deletions = new Map([...Map.groupBy(ownerless, ({ of }) => of)].map(([of, all]) => [of, all.length]))
  return { deletions, limit: limitOf(desired.length, MOST_BRAKES) }
}

const total = (deletions: ReadonlyMap<string, number>): number => deletions.values().reduce((sum, one) => sum + one, 0)

/** What a brake holds and does not list, lists and does not hold, or counts otherwise. For a moment that is so. */
export const unlisted = (sight: Sight, brakes: BrakeSight): readonly string[] => {
  const holds = new Map(holdsOf(sight, brakes).map((hold) => [hold.brake, hold]))
  const sums = Map.groupBy(holds.values(), ({ brake }) => brake.split(' ')[0] ?? '')
  return [
    ...[...duesOf(sight)].flatMap(([brake, { deletions, limit }]) => {
      const hold = holds.get(brake)
      const due = total(deletions)
      if (hold === undefined) return due > limit ? [`${brake} lists none of ${[...deletions.keys()].join(', ')}`] : []
      const named = total(hold.named)
      return [
        ...(hold.count === due ? [] : [`${brake} says that it holds ${hold.count}, and it is to hold ${due}`]),
        ...((hold.saysMore ? named < hold.count : named === hold.count)
          ? []
          : [`${brake} holds ${hold.count} and names ${named}`]),
        ...[...hold.named]
          .filter(([name, count]) => deletions.get(name) !== count)
          .map(([name, count]) => `${brake} lists ${count} of ${name}, and it is to hold ${deletions.get(name) ?? 0}`),
      ]
    }),
    ...Object.entries(brakes.metrics).flatMap(([kind, metric]) => {
      const listed = (sums.get(kind) ?? []).reduce((sum, { count }) => sum + count, 0)
      return listed === metric ? [] : [`the metrics of ${kind} say ${metric}, the lists ${listed}`]
    }),
  ]
}
