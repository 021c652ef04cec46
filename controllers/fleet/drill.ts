/**
 * What an operator of this release would write and delete if it began now, on objects and buckets as they are: the gate before an
 * upgrade. It asks the same functions as the operator. It reads what it is given and writes nothing. FLEET-66, FLEET-94. Pure but for `read`.
 */
import { type Placement, parsePlacementKey, placementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import type { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Clock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { keyOf } from '#operator/model/resource.ts'
import { DeploymentCache } from './cache/deployments.ts'
import { DeviceCache } from './cache/devices.ts'
import { type ControllerRevisionObject, revisionName } from './rollout/controllerrevision.ts'
import type { MatchedPlacement } from './state/fleet-queries.ts'
import { FleetState } from './state/fleet-state.ts'
import type { KeyUpdate } from './state/key-update.ts'
import { type BlockedReason, findBlockedReason } from './state/placement.ts'
import { UnneededKeyBrake } from './state/unneeded-keys.ts'

/** A fleet at a moment. */
export interface FleetSnapshot {
  readonly deployments: readonly Deployment[]
  readonly revisions: readonly ControllerRevisionObject[]
  readonly devices: readonly Device[]
  /** Of fleet-desired and of fleet-state: what they have. */
  readonly desired: readonly KeyUpdate[]
  readonly states: readonly KeyUpdate[]
}

export interface DrillResult {
  /** Revisions that would be stored, as `namespace/name@number`: their workloads would come to devices after that. */
  readonly revisions: readonly string[]
  /** Keys that would be written. */
  readonly puts: readonly string[]
  /** Keys that would be deleted, and why. */
  readonly deletes: readonly { readonly key: string; readonly reason: string }[]
  /** What the brake would hold, if anything. */
  readonly held: { readonly count: number; readonly message: string } | undefined
  /** Devices that have, under a number that is known, another workload than that one, or a number that is not known: a person has to decide. */
  readonly conflicts: readonly Kept[]
  /** Devices that don't have what is rolled out and may not get it at present. */
  readonly waiting: readonly Kept[]
  /** Keys of a later release, which this one would leave alone. */
  readonly later: readonly string[]
  /** Entries that can't be read, and Deployments that can't be worked on. */
  readonly problems: readonly string[]
}

/** A key that stays as it is. */
interface Kept {
  readonly key: string
  readonly reason: BlockedReason
}

const refuse = () => Promise.reject(new Error('a drill asks and writes nothing'))
const NO_API = { create: refuse, get: refuse, delete: refuse }

/** @param clock At whose time windows are open or closed. */
export const drillFleet = (fleet: FleetSnapshot, clock: Clock): DrillResult => {
  const state = new FleetState()
  const deployments = new DeploymentCache({ state, api: NO_API, clock, log: silent })
  const devices = new DeviceCache(state, clock, '')
  const malformed = state.seed(fleet.desired)
  for (const revision of fleet.revisions) deployments.revisionSeen(revision)
  for (const deployment of fleet.deployments) deployments.seen(deployment)
  for (const device of fleet.devices) devices.seen(device)
  for (const reported of fleet.states) state.stateSeen(reported)
  const writes = state.takeWrites()
  const known = new Set(fleet.deployments.map(({ metadata }) => keyOf(metadata)))
  // Before the first revision of a Deployment is stored nothing of it is known, as of one that was made anew: its keys are not given up.
  const unneeded = state
    .unneededKeys()
    .filter(({ reason, placement }) => reason !== 'DeploymentGone' || !known.has(deploymentOf(placement)))
  const { free, held } = new UnneededKeyBrake().decide(unneeded, state.keyCount, undefined, 0)
  const kept = [...known].flatMap((key) => [...state.matched(key)].flatMap(keptOf))
  const isLater = ({ reason }: MalformedEntry) => reason === 'Schema'
  const revisions = fleet.deployments.flatMap(({ metadata }) => {
    const next = deployments.nextRevision(keyOf(metadata))
    return next === undefined ? [] : [`${metadata.namespace}/${revisionName(metadata, next.revision)}@${next.revision}`]
  })
  const faults = fleet.deployments.flatMap(({ metadata }) => {
    const fault = deployments.fault(keyOf(metadata))
    return fault === undefined ? [] : [`${keyOf(metadata)}: ${fault.message}`]
  })
  return {
    revisions: revisions.toSorted(),
    puts: writes.flatMap(({ kind, key }) => (kind === 'Put' ? [key] : [])).toSorted(),
    deletes: [
      ...writes.flatMap(({ kind, key }) => (kind === 'Delete' ? [{ key, reason: 'Deleted' }] : [])),
      ...free.map(({ key, reason }) => ({ key, reason })),
    ].toSorted(byKey),
    held: held && { count: held.count, message: held.message },
    conflicts: kept.filter(({ reason }) => reason === 'ConflictPaused').toSorted(byKey),
    waiting: kept.filter(({ reason }) => reason !== 'ConflictPaused').toSorted(byKey),
    later: fleet.desired.flatMap(({ key }) => (isOfLater(state, key) ? [key] : [])).toSorted(),
    problems: [...malformed.filter((one) => !isLater(one)).map(({ message }) => message), ...faults],
  }
}

const byKey = (a: { readonly key: string }, b: { readonly key: string }): number => (a.key < b.key ? -1 : 1)

const deploymentOf = ({ namespace, deployment }: Placement): string => `${namespace}/${deployment}`

/** Those of a later release have a list of their own. */
const keptOf = (placed: MatchedPlacement): readonly Kept[] => {
  const reason = findBlockedReason(placed.deployment, placed.device, placed)
  const isKept = reason !== undefined && reason !== 'LaterRelease'
  return isKept ? [{ key: placementKey(placed.placement), reason }] : []
}

const isOfLater = (state: FleetState, key: string): boolean => {
  try {
    const { namespace, deployment, device } = parsePlacementKey(key)
    return state.isOfLaterRelease(`${namespace}/${deployment}`, device)
  } catch {
    return false
  }
}

/** Something would change, or a person has to decide: what an upgrade gate refuses. That devices wait is no fault of a fleet. */
export const isOpen = (result: DrillResult): boolean => changesAnything(result) || result.conflicts.length > 0

const changesAnything = ({ revisions, puts, deletes, held }: DrillResult): boolean =>
  revisions.length + puts.length + deletes.length > 0 || held !== undefined

/** Lines of one kind that are printed. */
const MAX_LINES = 50

const toLine = ({ key, reason }: { readonly key: string; readonly reason: string }): string => `${key} (${reason})`

/** For people. */
export const formatDrill = (result: DrillResult): string => {
  const { revisions, puts, deletes, held, conflicts, waiting, later, problems } = result
  const lines: string[] = []
  const section = (title: string, items: readonly string[]) => {
    if (items.length === 0) return
    lines.push(`${title}: ${items.length}`, ...items.slice(0, MAX_LINES).map((item) => `  ${item}`))
    if (items.length > MAX_LINES) lines.push(`  and ${items.length - MAX_LINES} more`)
  }
  section('revisions that would be stored', revisions)
  section('keys that would be written', puts)
  section('keys that would be deleted', deletes.map(toLine))
  if (held !== undefined) lines.push(`held by the brake: ${held.count}`, `  ${held.message}`)
  section(
    'conflicts: another workload than the revision of that number, or a number that is not known',
    conflicts.map(toLine),
  )
  section('waiting: may not be changed at present', waiting.map(toLine))
  section('keys of a later release, which would be left alone', later)
  section('what can’t be read or worked on', problems)
  if (!changesAnything(result)) lines.unshift('nothing would be written or deleted')
  return `${lines.join('\n')}\n`
}
