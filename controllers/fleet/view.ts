/**
 * What the fleet operator knows, for whoever shows it in the same process: the dashboard, its JSON twin, tests. Read only.
 * Every answer is of one moment; while `recovery().phase` is Recovering the numbers are of what was read so far.
 */
import type { Aggregate } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import type { Latch, Source } from './state/latch.ts'
import type { Standing } from './state/placement.ts'

/** How fresh all of it is. Seed fleet-recovery, Convergence banner. */
export interface Recovery {
  readonly phase: Latch['phase']
  readonly sources: Readonly<Record<Source, Latch>>
  /** This replica holds the Lease: it writes status, advances rollouts and collects orphans. */
  readonly isLeading: boolean
  /** Orphans that wait for a person; undefined when there are none. */
  readonly brake: { readonly count: number; readonly release: string; readonly message: string } | undefined
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
  readonly deployments: Readonly<Record<Standing, number>>
}

/** A Deployment on a device. */
export interface PlacementRow {
  readonly deployment: string
  readonly device: string
  readonly standing: Standing
  /** What the device was given, and what it said that it has. */
  readonly given: number | undefined
  readonly answered: number | undefined
  /** What the device said last. */
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

/** Where the operator of this process leaves its view; empty when this process runs none. */
export class FleetWindow {
  view: FleetView | undefined
}
