import { errorOf } from '#lib/errors/error-of.ts'
import { APIS_ERRORS } from '../../errors.ts'

/** The reasons why an entry of a bucket is malformed. Watchers count it by reason, log it and go on. FLEET-16. */
export type MalformedReason =
  /** The key is not made of the tokens that its bucket has. */
  | 'Key'
  /** The headers of the message are no entry's: they can't be decoded, are too many, or name no operation. */
  | 'Headers'
  /** The value is larger than its bucket allows. */
  | 'Size'
  /** The value is no JSON in UTF-8. */
  | 'Json'
  /** A field is missing or has another type. */
  | 'Shape'
  /** A later release wrote it. */
  | 'Schema'
  /** The payload is not the one that was sealed. */
  | 'Digest'

/** A key or value that breaks the contract of its bucket. Readers skip the entry, and leave it where it is. */
export class MalformedEntry extends errorOf(APIS_ERRORS, 'MalformedEntry') {
  readonly reason: MalformedReason
  constructor(reason: MalformedReason, problem: string, options?: ErrorOptions) {
    super(problem, options)
    this.reason = reason
  }
}
