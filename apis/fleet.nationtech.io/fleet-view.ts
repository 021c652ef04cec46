/**
 * What the fleet operator knows, in the form in which the dashboard and its JSON give it. Read only. Every answer is of one moment;
 * while `recovery().phase` is Recovering the numbers are of what was read so far.
 */
import type { Aggregate } from './v1alpha1/deployment.ts'
import type { RolloutStatus } from './v1alpha1/rollout.ts'

/** The three sources of what the operator knows. */
export type Source = 'deployments' | 'devices' | 'states'

/** How complete what was read of a source is. Times are of the last change of the phase. */
export type SyncState =
  | {
      readonly phase: 'Recovering'
      readonly since: Date
      readonly replayed: number
      /** Undefined while it is not known. */
      readonly total: number | undefined
      /** Why reading makes no progress; undefined while it does. */
      readonly problem: string | undefined
      /** Why what was read before holds no longer; undefined when nothing was. */
      readonly cause: string | undefined
    }
  | { readonly phase: 'Converged'; readonly since: Date }
  | { readonly phase: 'Degraded'; readonly since: Date; readonly problem: string }

export const PLACEMENT_PHASES = ['succeeded', 'failed', 'pending', 'offline', 'unreported', 'held'] as const
/** What a device that a Deployment matches counts as in `status.aggregate`. */
export type PlacementPhase = (typeof PLACEMENT_PHASES)[number]

/** How complete all of it is: what the banner of the dashboard shows. */
export interface Recovery {
  readonly phase: SyncState['phase']
  readonly sources: Readonly<Record<Source, SyncState>>
  /** This replica holds the Lease: it writes status, advances rollouts and deletes the keys that nothing needs. */
  readonly isLeading: boolean
  /** What waits for a person; undefined when nothing does. */
  readonly brake: HeldDeletions | undefined
}

/** Why nothing seems to need a key any more. */
export type UnneededReason = 'DeploymentGone' | 'DeviceGone' | 'NotMatched'

/** Keys that nothing seems to need any more, and that are too many to be deleted unasked. */
export interface HeldDeletions {
  readonly count: number
  /** The value of the annotation by which a person releases exactly these. */
  readonly release: string
  readonly message: string
  /** All of them, with why each would be deleted. */
  readonly keys: readonly { readonly key: string; readonly reason: UnneededReason }[]
}

export interface DeploymentRow {
  /** namespace/name */
  readonly key: string
  readonly aggregate: Aggregate
  readonly revision: number
  /** Undefined while the leader has not written it yet. */
  readonly rollout: RolloutStatus | undefined
  readonly isDeleting: boolean
}

export interface DeviceRow {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  /** It has a heartbeat. */
  readonly isAlive: boolean
  /** When its last heartbeat was written, by the clock of NATS; undefined when none was seen. */
  readonly lastSeen: Date | undefined
  readonly agentVersion: string | undefined
  readonly isPinned: boolean
  /** Its Deployments by what they count as. */
  readonly deployments: Readonly<Record<PlacementPhase, number>>
}

/** A Deployment on a device. */
export interface PlacementRow {
  readonly deployment: string
  readonly device: string
  readonly phase: PlacementPhase
  /** What the device was given, and what it said that it has. */
  readonly givenRevision: number | undefined
  readonly answered: number | undefined
  /** Why it is not as wanted; where there is nothing to say of that, what the device said last. */
  readonly message: string | undefined
  /** By the clock of the device: RFC 3339. */
  readonly at: string | undefined
}

export interface FleetView {
  recovery(): Recovery
  deployments(): readonly DeploymentRow[]
  devices(): readonly DeviceRow[]
  /** The devices of a Deployment; empty when there is none of that key. */
  ofDeployment(key: string): readonly PlacementRow[]
  /** The Deployments of a device; empty when there is none of that name. */
  ofDevice(name: string): readonly PlacementRow[]
  /** Calls back after something has changed, at most once a second. @returns how to stop it */
  onChange(listener: () => void): () => void
}

/** Where the operator of this process leaves its view; undefined while this process runs none. */
export interface FleetViewRef {
  view: FleetView | undefined
}
