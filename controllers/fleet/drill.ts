/**
 * What an operator of this release would write and delete if it began now, on objects and buckets as they are: the gate before an
 * upgrade. It asks the same functions as the operator. It reads what it is given and writes nothing. FLEET-66. Pure but for `read`.
 */
import { parsePlacementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import type { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Clock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { keyOf } from '#operator/model/resource.ts'
import { DeploymentCache } from './cache/deployments.ts'
import { DeviceCache } from './cache/devices.ts'
import { type ControllerRevisionObject, revisionName } from './rollout/controllerrevision.ts'
import { FleetState } from './state/fleet-state.ts'
import type { KeyUpdate } from './state/key-update.ts'
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
  /** Keys of a later release, which this one would leave alone. */
  readonly later: readonly string[]
  /** Entries that can't be read, and Deployments that can't be worked on. */
  readonly problems: readonly string[]
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
  const { free, held } = new UnneededKeyBrake().decide(state.unneededKeys(), state.keyCount, undefined, 0)
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
    ].toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    held: held && { count: held.count, message: held.message },
    later: fleet.desired.flatMap(({ key }) => (isOfLater(state, key) ? [key] : [])).toSorted(),
    problems: [...malformed.filter((one) => !isLater(one)).map(({ message }) => message), ...faults],
  }
}

const isOfLater = (state: FleetState, key: string): boolean => {
  try {
    const { namespace, deployment, device } = parsePlacementKey(key)
    return state.isOfLaterRelease(`${namespace}/${deployment}`, device)
  } catch {
    return false
  }
}

/** Something would change: what an upgrade gate refuses. */
export const changesAnything = ({ revisions, puts, deletes, held }: DrillResult): boolean =>
  revisions.length + puts.length + deletes.length > 0 || held !== undefined

/** Lines of one kind that are printed. */
const MAX_LINES = 50

/** For people. */
export const formatDrill = (result: DrillResult): string => {
  const { revisions, puts, deletes, held, later, problems } = result
  const lines: string[] = []
  const section = (title: string, items: readonly string[]) => {
    if (items.length === 0) return
    lines.push(`${title}: ${items.length}`, ...items.slice(0, MAX_LINES).map((item) => `  ${item}`))
    if (items.length > MAX_LINES) lines.push(`  and ${items.length - MAX_LINES} more`)
  }
  section('revisions that would be stored', revisions)
  section('keys that would be written', puts)
  section(
    'keys that would be deleted',
    deletes.map(({ key, reason }) => `${key} (${reason})`),
  )
  if (held !== undefined) lines.push(`held by the brake: ${held.count}`, `  ${held.message}`)
  section('keys of a later release, which would be left alone', later)
  section('what can’t be read or worked on', problems)
  if (!changesAnything(result)) lines.unshift('nothing would be written or deleted')
  return `${lines.join('\n')}\n`
}
