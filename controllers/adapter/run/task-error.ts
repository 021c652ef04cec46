/** What can go wrong in a run, by a reason that conditions, traces and metrics name. */

export type FailureReason =
  /** A required param has no value. */
  | 'ParamMissing'
  /** A value is not what its declared type can be made of. */
  | 'ParamInvalid'
  /** An expression has no value: a missing key, a wrong type, a limit. Never the same as false. */
  | 'ExpressionFailed'
  | 'TemplateFailed'
  /** An HTTP request was refused, or got no answer after all its tries. */
  | 'RequestFailed'
  /** The manifest is no object that can be applied. */
  | 'InvalidManifest'
  /** The server refused what was applied. */
  | 'ApplyFailed'
  | 'DiscoveryFailed'
  | 'DeleteFailed'
  /** ADAPTER-36. */
  | 'InvalidDeletionOrder'
  | 'InvalidDeletionConfig'
  /** The task's ServiceAccount, or its credentials for an HTTP service, may not do it. */
  | 'Forbidden'
  /** The API server, or an HTTP service, does not answer. */
  | 'Unreachable'
  /** The run was ended before it was through. */
  | 'Interrupted'

export class TaskError extends Error {
  readonly reason: FailureReason
  constructor(reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TaskError'
    this.reason = reason
  }
}
