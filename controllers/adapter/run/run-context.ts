import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { ResourceInventory } from '../inventory/resource-inventory.ts'
import type { JsonObject } from '../task/task.ts'
import type { PodProblems } from '../transports/pod-problems.ts'
import type { ResourceTransports } from '../transports/transport.ts'
import type { ApiReader } from './api-reader.ts'
import type { ReportDedup } from './report-dedup.ts'

/** Holds the deletion of what was applied for the resource of the run when that is one of many: daemon/inferred-deletions.ts. */
export interface ResourceBrake {
  /** The API has it. `isDeleting`: it says that the resource is to be deleted. */
  observe(resource: { readonly isDeleting: boolean; readonly isSelected: boolean }): void
  /** May what was applied for it go, because it is gone or lives and is not selected? @throws Error when that can't be written down */
  mayDelete(why: 'gone' | 'unselected'): Promise<boolean>
}

/** What a run works with. */
export interface RunContext {
  readonly api: ApiReader
  readonly transports: ResourceTransports
  /** What the task has applied for the resource. */
  readonly inventory: ResourceInventory
  /** Tells why a workload has no pod that runs; nothing does when left out. CLUSTER-94. */
  readonly podProblems?: Pick<PodProblems, 'find'>
  /**
   * Leaves an object to another resource that has it in its inventory too, and takes it out of this one; none has when left out.
   * ADAPTER-86. @returns whether it is left. @throws TaskError, or the signal's reason
   */
  readonly leave?: (key: string, object: JsonObject) => Promise<boolean>
  /** Where the API had the resource when the first object was written down: ADAPTER-68. */
  readonly recordedHref?: string | undefined
  /** What is found counts as applied by the task: in a dry run, which has no inventory from before. */
  readonly ownsWhatItFinds?: boolean
  /** What becomes of objects when there is no resource for them any more; `Delete` when left out. */
  readonly retention?: AdapterTaskSpec['retention']
  /** Whether what was applied may go when the API never said that the resource is to be deleted; it may when left out. */
  readonly brake?: ResourceBrake
  /** What the task selects, as text. Undefined when it selects everything: then no resource ever leaves it. */
  readonly selection?: string | undefined
  /** With what state of them resources were let go last, by id: kept ones are looked at again and again. */
  readonly released?: Map<string, string>
  /** What was reported lately, so that equal reports are not sent again. */
  readonly reportDedup: ReportDedup
  /** The text of a file that tasks may read. @throws Error */
  readFile(path: string): Promise<string>
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}
