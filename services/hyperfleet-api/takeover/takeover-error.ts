import { errorOf } from '#lib/errors/error-of.ts'
import { API_ERRORS } from '../errors.ts'

/** The database of a Go service can't be taken over as things are; the message says why and what to do. */
export class TakeoverError extends errorOf(API_ERRORS, 'TakeoverError') {}
