/**
 * What a brake holds stays: nothing goes of what an adapter or the operator of the fleet lists, unless a person released a list that has
 * it. Two looks are compared; in each the stores are read before the brakes, so what went was held before, and was not released after. Of
 * pools invariants.ts says the same. Pure; a sentence for each finding.
 */
import { nameOf } from '#test/worlds/suite/observer/sights.ts'
import { type Hold, holdsOf } from './holds.ts'
import type { Sight } from './invariants.ts'

/** By the name of a list, what every list that was ever shown under it has. */
export type ShownLists = ReadonlyMap<string, ReadonlySet<string>>

/** What the brakes of adapters and of the fleet list. */
const listsOf = ({ objects: { AdapterTask = [] }, fleetBrake }: Sight): readonly Hold[] =>
  holdsOf(
    { objects: { AdapterTask } },
    { metrics: { fleet: fleetBrake.message === undefined ? 0 : 1 }, fleetMessage: fleetBrake.message },
  )

/** With the lists that are shown now. */
export const withShown = (before: ShownLists, sight: Sight): ShownLists => {
  const shown = new Map(before)
  for (const { releases, named } of listsOf(sight))
    for (const release of releases) shown.set(release, new Set(named.keys()).union(shown.get(release) ?? new Set()))
  return shown
}

/** @param shown until now */
export const goneWhileHeld = (before: Sight, now: Sight, shown: ShownLists): readonly string[] =>
  listsOf(before).flatMap(({ brake, named }) => {
    const released = releasedOf(brake, now)
    const held = [...named.keys()].filter((name) => !isReleased(name, released, shown))
    const kept = brake === 'fleet' ? keysOf : appliedBy(brake)
    return held.flatMap((name) => {
      const gone = kept(before, name).difference(kept(now, name))
      return gone.size === 0 ? [] : [`${brake} holds ${name}, and ${[...gone].join(', ')} went`]
    })
  })

/** A list that was shown between two looks may be any. */
const isReleased = (name: string, released: string, shown: ShownLists): boolean =>
  released !== '' && released.split(',').some((release) => shown.get(release.trim())?.has(name) ?? true)

const releasedOf = (brake: string, { objects, fleetBrake }: Sight): string =>
  brake === 'fleet'
    ? fleetBrake.released
    : ((objects.AdapterTask ?? []).find((task) => brake === `AdapterTask ${nameOf(task)}`)?.metadata.annotations?.[
        'muster.dev/release-deletions'
      ] ?? '')

type Kept = (sight: Sight, name: string) => ReadonlySet<string>

/** Keys of a Deployment. */
const keysOf: Kept = ({ keys }, name) => {
  const end = `.${name.replace('/', '.')}`
  return new Set(keys.filter((key) => key.startsWith('fleet-desired ') && key.endsWith(end)))
}

/** The inventory of a resource, and what it names that is there. */
const appliedBy =
  (brake: string): Kept =>
  ({ objects, applied }, resource) =>
    new Set(
      (objects.AdapterInventory ?? []).flatMap((inventory) => {
        const { task, resourceId, objects: entries = [] } = inventory.spec as InventorySpec
        const { name, namespace, deletionTimestamp } = inventory.metadata
        if (resourceId !== resource || brake !== `AdapterTask ${namespace}/${task}`) return []
        const named = entries.map((entry) => `${entry.kind} ${[entry.namespace, entry.name].filter(Boolean).join('/')}`)
        return [
          ...(deletionTimestamp === undefined ? [`AdapterInventory ${namespace}/${name}`] : []),
          ...named.filter((one) => applied.has(one)),
        ]
      }),
    )

interface InventorySpec {
  readonly task: string
  readonly resourceId: string
  readonly objects?: readonly { readonly kind?: string; readonly namespace?: string; readonly name?: string }[]
}
