import { errorOf } from '#lib/errors/error-of.ts'
import { API_ERRORS } from '../../errors.ts'

/** A NATS server that can't be used until its settings are corrected; the message says what to do. */
export class BrokerError extends errorOf(API_ERRORS, 'BrokerError') {}
