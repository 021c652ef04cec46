import { errorOf } from '#lib/errors/error-of.ts'
import type { Duration } from './duration.ts'
import { OPERATOR_ERRORS } from './error-catalogue.ts'

/** Thrown by a handler that should be called again after a delay (kopf's TemporaryError). */
export class TemporaryError extends errorOf(OPERATOR_ERRORS, 'TemporaryError') {
  /** How long to wait; the handler's backoff when undefined. */
  readonly delay: Duration | undefined
  constructor(message: string, options: ErrorOptions & { delay?: Duration } = {}) {
    super(message, options)
    this.delay = options.delay
  }
}

/** Thrown by a handler that must not be called again for this change (kopf's PermanentError). */
export class PermanentError extends errorOf(OPERATOR_ERRORS, 'PermanentError') {
  /** CamelCase, for conditions and events. */
  readonly reason: string | undefined
  constructor(message: string, options: ErrorOptions & { reason?: string } = {}) {
    super(message, options)
    this.reason = options.reason
  }
}
