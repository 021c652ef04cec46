/** The controllers that `muster manager` can run: the one list of them. What each needs stands in its entry, beside its `index.ts`. */
import { adapterEntry } from '#controllers/adapter/entry.ts'
import { clusterClaimEntry } from '#controllers/clusterclaim/entry.ts'
import { clusterDeploymentEntry } from '#controllers/clusterdeployment/entry.ts'
import { clusterDeploymentCustomizationEntry } from '#controllers/clusterdeploymentcustomization/entry.ts'
import { clusterDeviceEntry } from '#controllers/clusterdevice/entry.ts'
import { clusterPoolEntry } from '#controllers/clusterpool/entry.ts'
import { fleetEntry } from '#controllers/fleet/entry.ts'
import { sentinelEntry } from '#controllers/sentinel/entry.ts'
import type { ControllerEntry } from '#operator/controller-entry.ts'
import type { Rights } from '#operator/rights.ts'

export const controllers = [
  sentinelEntry,
  adapterEntry,
  clusterPoolEntry,
  clusterDeploymentCustomizationEntry,
  clusterClaimEntry,
  clusterDeploymentEntry,
  clusterDeviceEntry,
  fleetEntry,
] as const satisfies readonly ControllerEntry[]

type Entry = (typeof controllers)[number]
type Selectable = Extract<Entry, { readonly rights: Rights }>
export type ControllerName = Selectable['name']

const selectable: readonly Selectable[] = controllers.filter((entry) => 'rights' in entry)

/** The names that `--controllers` takes. */
export const CONTROLLERS = selectable.map(({ name }) => name)

/** How the rights of each are given to it. */
export const rightsByController = Object.fromEntries(
  selectable.map(({ name, rights }) => [name, rights]),
) as unknown as Readonly<Record<ControllerName, Rights>>

/** What runs under these names: each controller and its parts. */
export const entriesOf = (names: readonly ControllerName[]): readonly Entry[] =>
  names.flatMap((name) =>
    controllers.filter((entry) => entry.name === name || ('partOf' in entry && entry.partOf === name)),
  )

type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never

/** The flags of all controllers. */
export const controllerFlags = Object.assign({}, ...controllers.map(({ flags }) => flags)) as Intersection<
  Entry['flags']
>
