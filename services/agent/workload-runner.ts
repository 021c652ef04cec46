/** What runs a kind of workload. */

import type { Phase } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'

/** Tells how a workload does; the message says why it is not running, or what it waits for. */
export type ReportPhase = (phase: Phase, message?: string) => void

/** One Deployment on this device, as runners know it. */
export interface LocalPlacement {
  /** `<device>.<namespace>.<deployment>` */
  readonly key: string
  /** `<namespace>/<deployment>`, for people. */
  readonly deployment: string
  /** A folder of its own that outlives the agent. */
  readonly folder: string
}

/**
 * Every method may be called again after the agent was killed in the middle of it, and does what is left to do. The methods
 * of one placement are never called at the same time.
 */
export interface WorkloadRunner {
  /**
   * Brings the workload about and tends it until the signal aborts. What runs then goes on running; what an earlier score of
   * the placement left is taken away. Never throws: trouble is reported and tried again.
   */
  run(placement: LocalPlacement, score: Score, report: ReportPhase, signal: AbortSignal): Promise<void>
  /** Takes everything away that any score of the placement left, and resolves when it is gone, or the signal aborts. */
  remove(placement: LocalPlacement, report: ReportPhase, signal: AbortSignal): Promise<void>
  /** The agent ends for good: stops what runs on this machine, so that the next start begins it anew. */
  stop(placement: LocalPlacement): Promise<void>
}

export type WorkloadRunners = Readonly<Record<Score['type'], WorkloadRunner>>
