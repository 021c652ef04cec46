/** What must hold at every moment, whatever burns. Pure; each gives a sentence for each violation. */
import {
  type ChangeSight,
  type ClusterSight,
  type KubeSight,
  nameOf,
  type PulseSight,
  type RecordSight,
} from './sights.ts'

/** What several have that only one may have, with those that have it. */
const shared = <T>(
  all: readonly T[],
  of: (one: T) => string | undefined,
): readonly (readonly [string, readonly T[]])[] =>
  [...Map.groupBy(all, of)].flatMap(([key, group]) => (key === undefined || group.length < 2 ? [] : [[key, group]]))

const names = (all: readonly { readonly name: string }[]): string => all.map(({ name }) => name).join(' and ')

/** POOL-1: a customization is in at most one cluster, until that one is gone. */
export const doubleLeases = (clusters: readonly ClusterSight[]): readonly string[] =>
  shared(clusters, ({ customization }) => customization).map(
    ([customization, both]) => `the customization ${customization} is leased by ${names(both)}`,
  )

/** A claim has one cluster; one that is being deleted is not counted. */
export const doubleClaims = (clusters: readonly ClusterSight[]): readonly string[] =>
  shared(
    clusters.filter(({ isDeleting }) => !isDeleting),
    ({ claim }) => claim,
  ).map(([claim, both]) => `the claim ${claim} has ${names(both)}`)

/** A cluster has one claim for as long as it lives. @param before by uid */
export const changedClaims = (
  before: ReadonlyMap<string, ClusterSight>,
  now: readonly ClusterSight[],
): readonly string[] =>
  now.flatMap(({ uid, name, claim }) => {
    const old = before.get(uid)?.claim
    return old === undefined || old === claim
      ? []
      : [`the cluster ${name} of the claim ${old} now has ${claim ?? 'none'}`]
  })

/** A ClusterDeployment has one cluster in the HyperFleet API, until that one is gone. */
export const doubleRecords = (records: readonly RecordSight[]): readonly string[] =>
  shared(
    records.map((record) => ({ ...record, name: record.id })),
    ({ registeredFor }) => registeredFor,
  ).map(([deployment, both]) => `the ClusterDeployment ${deployment} is registered as ${names(both)}`)

/** Everything that can be left over by one controller while another one still sees it, at one moment. */
export interface Belongings {
  readonly clusters: readonly ClusterSight[]
  readonly records: readonly RecordSight[]
  /** Objects that adapters applied: `<kind> <name>`, with the id of the cluster in the API that they are for. */
  readonly applied: ReadonlyMap<string, string>
  /** Keys of the fleet in NATS, `<bucket> <device>.<namespace>.<deployment>`. */
  readonly keys: readonly string[]
  readonly devices: readonly string[]
  /** `<namespace>/<name>` of Deployments of the fleet. */
  readonly deployments: readonly string[]
}

/**
 * What belongs to nothing. For a moment that is as it should be: things are made and removed one after the other.
 * Leases and the namespaces of pools are no part of it: without a cluster they stay for five minutes, in case a manager is about to make
 * one (docs/decisions/pool-plan.md).
 */
export const orphans = (all: Belongings): readonly string[] => {
  const clusters = new Set(all.clusters.map(({ name }) => name))
  const records = new Set(all.records.map(({ id }) => id))
  const devices = new Set(all.devices)
  const deployments = new Set(all.deployments)
  const ownerless = all.keys.filter((key) => {
    const [device = '', namespace, deployment] = key.split(' ').at(-1)?.split('.') ?? []
    return !devices.has(device) || !deployments.has(`${namespace}/${deployment}`)
  })
  return [
    ...all.records
      .filter(({ registeredFor }) => !clusters.has(registeredFor))
      .map(
        ({ id, registeredFor }) =>
          `the cluster ${id} of the HyperFleet API: its ClusterDeployment ${registeredFor} is gone`,
      ),
    ...[...all.applied].flatMap(([object, id]) =>
      records.has(id) ? [] : [`${object}, applied by an adapter: its cluster ${id} is gone`],
    ),
    ...ownerless.map((key) => `the key ${key}: its device or its Deployment is gone`),
  ]
}

/** Changes that no adapter was told of: there is no event of that generation, nor of a later one. */
export const untold = (changes: readonly ChangeSight[], pulses: readonly PulseSight[]): readonly string[] => {
  const newest = new Map<string, number>()
  for (const { resource, generation } of pulses) newest.set(resource, Math.max(generation, newest.get(resource) ?? 0))
  return changes
    .filter(({ resource, generation }) => (newest.get(resource) ?? 0) < generation)
    .map(({ resource, generation }) => `generation ${generation} of the cluster ${resource}`)
}

/** Objects that are asked to go, and what keeps them. */
export const leaving = (objects: readonly KubeSight[]): readonly string[] =>
  objects
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    .map((object) => `${object.kind} ${nameOf(object)}, kept by ${object.metadata.finalizers?.join(', ') || 'nothing'}`)

/**
 * Since when something has gone on: what was there before keeps its time, what is new has the present one.
 * @param now milliseconds since the epoch
 */
export const lasting = (
  before: ReadonlyMap<string, number>,
  present: readonly string[],
  now: number,
): ReadonlyMap<string, number> => new Map(present.map((one) => [one, before.get(one) ?? now]))

/** Those that have lasted longer than the bound, in milliseconds. */
export const overdue = (since: ReadonlyMap<string, number>, now: number, bound: number): readonly string[] =>
  [...since].filter(([, begin]) => now - begin > bound).map(([one]) => one)
