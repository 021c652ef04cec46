/** The last runs of adapter tasks, as `GET /adapter/runs` and the dashboard give them. */
import type { Trace } from './adapter-trace.ts'

/** A run that has ended. */
export interface AdapterRun {
  /** Tells it from all other runs of this process. */
  readonly id: string
  /** Of the AdapterTask. */
  readonly namespace: string
  readonly task: string
  /** Under which it reports. */
  readonly adapter: string
  /** Id of the HyperFleet resource. */
  readonly resource: string
  /** Without secrets, and shortened where it is too large to be kept. */
  readonly trace: Trace
}

/** Everything is compared as it stands; what is undefined is not compared. */
export interface RunFilter {
  readonly namespace?: string | undefined
  readonly task?: string | undefined
  readonly resource?: string | undefined
  readonly status?: Trace['status'] | undefined
}

/** How others read runs. */
export interface AdapterRuns {
  /** The newest first. */
  list(filter: RunFilter, limit: number): readonly AdapterRun[]
  /** Calls back after a run has ended. @returns how to stop it */
  onChange(listener: () => void): () => void
}
