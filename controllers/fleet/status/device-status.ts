/** What is written of a Device: what its agent tells, as far as it may, and its status. Pure. FLEET-52, FLEET-53, FLEET-93. */

import { PLACEMENT_PHASES, type PlacementPhase } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import type { Info } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Device, DeviceStatus } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Desired } from '#operator/client/api.ts'
import { type ConditionInput, withConditions } from '#operator/model/conditions.ts'
import type { OwnLabels } from '../cache/own-labels.ts'
import { UNREACHABLE, unreachableTaint } from '../selection/taints.ts'
import type { SlotConflict } from '../state/slot-conflicts.ts'
import { verificationConditions } from './entries-verified.ts'
import { type InfoVerdict, infoConditions, type SignedInfo } from './info-verified.ts'
import { deviceSlotConditions } from './multiple-owners.ts'

/** The digest of what the agent said that was written last: a restart writes nothing, and what people changed since stays. */
const INFO_ANNOTATION = 'fleet.nationtech.io/info'

/** What the agent signed last, as `<counter>:<key>`: what is older, or not signed, is not taken any more. FLEET-123. */
const SIGNED_ANNOTATION = 'fleet.nationtech.io/info-signed'

/** What the agent said of labels that are not its own to choose, as `key=value`, separated by commas. */
const REPORTED_LABELS_ANNOTATION = 'fleet.nationtech.io/reported-labels'

/** Which operator keeps a Device, as `<namespace>/<Lease>`: others, of other NATS servers, leave it alone. */
export const OPERATOR_ANNOTATION = 'fleet.nationtech.io/operator'

/** Of what the agent says, and of the labels that it may choose. */
const digestOfInfo = ({ labels, inventory }: Info, allowed: readonly string[]): string =>
  digestOf(allowed.includes('*') ? { labels, inventory } : { labels, inventory, allowed })

/** What an agent says, and is taken. */
export interface AcceptedInfo {
  readonly info: Info
  /** Undefined when it never signed. */
  readonly last: SignedInfo | undefined
}

/** What the device signed last; undefined when it never did. */
export const lastSignedOf = (device: Device | undefined): SignedInfo | undefined => {
  const [, digits, nkey = ''] =
    /^(\d{1,16}):(U[A-Z2-7]{55})$/.exec(device?.metadata.annotations?.[SIGNED_ANNOTATION] ?? '') ?? []
  return digits === undefined ? undefined : { counter: Number(digits), nkey }
}

const printSigned = ({ counter, nkey }: SignedInfo): string => `${counter}:${nkey}`

/** Whether what the agent says was written. @param present As it is; undefined when there is none yet. */
export const isWritten = (
  { info, last }: AcceptedInfo,
  allowed: readonly string[],
  present: Device | undefined,
): boolean => {
  const annotations = present?.metadata.annotations
  return (
    annotations?.[INFO_ANNOTATION] === digestOfInfo(info, allowed) &&
    annotations?.[SIGNED_ANNOTATION] === (last && printSigned(last))
  )
}

export interface DeviceInput {
  readonly name: string
  readonly accepted: AcceptedInfo
  /** Labels that devices choose themselves. */
  readonly allowed: readonly string[]
  readonly labels: OwnLabels
  /** Which operator writes it. */
  readonly operator: string
  /** Of the Device that it was decided of: a later one may know of a later info. Undefined when there is none yet. */
  readonly resourceVersion: string | undefined
}

/** What is applied for a device. */
export const buildDevice = ({
  name,
  accepted: { info, last },
  allowed,
  labels,
  operator,
  resourceVersion,
}: DeviceInput): Desired<Device> => {
  const ignored = Object.entries(labels.ignored).map(([key, value]) => `${key}=${value}`)
  return {
    metadata: {
      name,
      ...(resourceVersion !== undefined && { resourceVersion }),
      labels: labels.labels,
      annotations: {
        [INFO_ANNOTATION]: digestOfInfo(info, allowed),
        [OPERATOR_ANNOTATION]: operator,
        ...(last !== undefined && { [SIGNED_ANNOTATION]: printSigned(last) }),
        ...(ignored.length > 0 && { [REPORTED_LABELS_ANNOTATION]: ignored.join(',') }),
      },
    },
    spec: { inventory: info.inventory },
  }
}

/** Leaves labels to the people who own them. @param fields Those in conflict, as the API server names them. */
export const withoutLabels = (device: Desired<Device>, fields: readonly string[]): Desired<Device> => {
  const isTheirs = (label: string) => fields.some((field) => field === `.metadata.labels.${label}`)
  const labels = Object.entries(device.metadata.labels ?? {}).filter(([label]) => !isTheirs(label))
  return { ...device, metadata: { ...device.metadata, labels: Object.fromEntries(labels) } }
}

export interface DeviceStatusInput {
  readonly generation: number | undefined
  readonly before: DeviceStatus | undefined
  readonly isAlive: boolean
  /** When its last heartbeat was written; undefined when none was seen. */
  readonly lastSeen: Date | undefined
  /** Undefined when the agent has said nothing. */
  readonly agentVersion: string | undefined
  /** When its heartbeat expired; undefined when that was not seen. */
  readonly offlineSince: Date | undefined
  /** What each of its Deployments counts as. */
  readonly phases: readonly PlacementPhase[]
  /** Its slots that several of them want. */
  readonly slotConflicts: readonly SlotConflict[]
  /** What its agent said; undefined when nothing. */
  readonly info: Info | undefined
  /** Whether that is its own; undefined when the store has nothing of it. */
  readonly verdict: InfoVerdict | undefined
  /** The ids of the keys by which entries are signed. */
  readonly signing: readonly string[]
  readonly now: Date
}

export const countPhases = (phases: Iterable<PlacementPhase>): Record<PlacementPhase, number> => {
  const counts = Object.fromEntries(PLACEMENT_PHASES.map((phase) => [phase, 0])) as Record<PlacementPhase, number>
  for (const phase of phases) counts[phase] += 1
  return counts
}

/**
 * The status after something has changed. While a device is there, each heartbeat is no news: `lastSeen` moves with the other
 * fields, and when the heartbeats end.
 */
export const buildDeviceStatus = (input: DeviceStatusInput): DeviceStatus => {
  const { generation, before, lastSeen, agentVersion, phases, now } = input
  const { succeeded, failed, held, pending, unreported, offline } = countPhases(phases)
  const conditions = { before: before?.conditions, generation }
  const claims = [
    readiness(input),
    ...deviceSlotConditions(input.slotConflicts, conditions),
    ...verificationConditions({ ...conditions, signing: input.signing, info: input.info }),
    ...infoConditions({ ...conditions, verdict: input.verdict }),
  ]
  const status: DeviceStatus = {
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: [...withConditions(before?.conditions, claims, now)],
    ...(agentVersion !== undefined && { agentVersion }),
    ...(!input.isAlive && { taints: [unreachable(input)] }),
    deployments: { succeeded, failed, pending: pending + unreported + offline, held },
  }
  const heardAt = lastSeen?.toISOString() ?? before?.lastSeen
  if (heardAt === undefined) return status
  const hasChanged = !equalsExceptLastSeen(status, before)
  return { ...status, lastSeen: hasChanged ? heardAt : (before?.lastSeen ?? heardAt) }
}

/** The taint keeps the time of its beginning: tolerations are counted from it. */
const unreachable = ({ before, offlineSince, lastSeen, now }: DeviceStatusInput) =>
  before?.taints?.find(({ key }) => key === UNREACHABLE) ?? unreachableTaint(offlineSince ?? lastSeen ?? now)

/** Equal in all but `lastSeen`. */
const equalsExceptLastSeen = (status: DeviceStatus, before: DeviceStatus | undefined): boolean => {
  const { lastSeen: _, ...rest } = before ?? {}
  return digestOf(status) === digestOf(rest)
}

/** Ready is Unknown once the heartbeat expired: it is unknown how the device does. */
const readiness = ({ isAlive, generation }: DeviceStatusInput): ConditionInput => {
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  return isAlive
    ? { type: 'Ready', status: 'True', reason: 'Heartbeat', message: 'its agent is heard', ...observed }
    : {
        type: 'Ready',
        status: 'Unknown',
        reason: 'NoHeartbeat',
        message: 'its agent is not heard any more',
        ...observed,
      }
}
