/** What can go wrong in a run, by a reason that conditions, traces and metrics name. */

import { errorOf } from '#lib/errors/error-of.ts'
import { ADAPTER_ERRORS } from '../errors.ts'

export type FailureReason =
  /** A required param has no value. */
  | 'ParamMissing'
  /** A value is not what its declared type can be made of. */
  | 'ParamInvalid'
  /** An expression has no value: a missing key, a wrong type, a limit. Never the same as false. */
  | 'ExpressionFailed'
  | 'TemplateFailed'
  /** All texts of the run together take more than one run may. No default stands for that. */
  | 'BudgetExceeded'
  /** The event leads to another resource than it is about. Nothing is done and nothing reported. */
  | 'EventMismatch'
  /** The task's report says that everything is gone, and something is there. The standard report is sent in its place. */
  | 'ReportTooEarly'
  /** An HTTP request was refused, or got no answer after all its tries. */
  | 'RequestFailed'
  /** The manifest is no object that can be applied. */
  | 'InvalidManifest'
  /** The server refused what was applied. */
  | 'ApplyFailed'
  /** What is about to be applied, or is gone, could not be written down: nothing more is applied then. */
  | 'InventoryFailed'
  | 'DiscoveryFailed'
  | 'DeleteFailed'
  /** ADAPTER-36. */
  | 'InvalidDeletionOrder'
  | 'InvalidDeletionConfig'
  /** The task's ServiceAccount, or its credentials for an HTTP service, may not do it. */
  | 'Forbidden'
  /** A ResourceQuota, or what an HTTP service allows, is used up: there will be room one day. CLUSTER-22. */
  | 'QuotaExceeded'
  /** No node takes a pod of what was applied. CLUSTER-94. */
  | 'Unschedulable'
  /** The API server, or an HTTP service, does not answer. */
  | 'Unreachable'
  /** The run was ended before it was through. */
  | 'Interrupted'

export class TaskError extends errorOf(ADAPTER_ERRORS, 'TaskError') {
  readonly reason: FailureReason
  /** Another task has the object, and has to change it first. */
  readonly isWaiting: boolean
  constructor(reason: FailureReason, message: string, options: ErrorOptions & { readonly isWaiting?: boolean } = {}) {
    super(message, options)
    this.reason = reason
    this.isWaiting = options.isWaiting === true
  }
}

/** Whether a default may stand for what could not be evaluated. What a run may use is no matter of one value: ADAPTER-84. */
export const mayDefault = (error: unknown): error is TaskError =>
  error instanceof TaskError && error.reason !== 'BudgetExceeded'
