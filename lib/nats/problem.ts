import { LIB_ERRORS } from '../errors/catalogue.ts'
import { errorOf } from '../errors/error-of.ts'

/** Why the fleet can't use NATS: the catalogue. The message says what to do. */
export type NatsReason =
  /** No server answers there, or the connection broke. */
  | 'Unreachable'
  /** The credentials are wrong, or don't allow what is asked. */
  | 'Refused'
  /** The server is too old. */
  | 'TooOld'
  /** JetStream is off, or has no room. */
  | 'NoJetStream'
  /** A bucket has settings that can't be changed without losing something. */
  | 'BucketRefused'
  /** A bucket was deleted, or made anew, while it was watched. */
  | 'BucketGone'
  /** A bucket has earlier revisions than it had: it was restored from a backup. */
  | 'BucketWentBack'
  /** Values of a bucket were removed past its watchers. */
  | 'BucketPurged'

export class NatsProblem extends errorOf(LIB_ERRORS, 'NatsProblem') {
  readonly reason: NatsReason
  constructor(reason: NatsReason, problem: string, options?: ErrorOptions) {
    super(problem, options)
    this.reason = reason
  }
}
