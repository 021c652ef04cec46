import type { FastifyError } from 'fastify'
import { Problem } from '../problems/problem.ts'
import { isFull, isReadOnly, READ_ONLY_REASON, sqlState } from '../storage/database.ts'
import { MAX_BODY_BYTES } from './limits.ts'

/** Any error as one of the catalogue: nothing of a database or a stack goes out (API-47). */
export const toProblem = (error: FastifyError): Problem => {
  if (error instanceof Problem) return error
  const { statusCode = 500 } = error
  if (statusCode === 413) return new Problem('tooLarge', `the body must have at most ${MAX_BODY_BYTES} bytes`)
  if (statusCode >= 400 && statusCode < 500) return new Problem('malformed', error.message)
  if (isFull(error)) return new Problem('full', 'the volume of the database is full: make it larger, then try again')
  // API-70
  if (isReadOnly(error)) return new Problem('unavailable', `${READ_ONLY_REASON}; try again`)
  // API-99
  if (isTimeout(error))
    return new Problem(
      'unavailable',
      'the database took too long for it: try again, with fewer and narrower tests in a search',
    )
  if (isConnectionError(error)) return new Problem('unavailable', 'the database is not reachable, try again')
  return new Problem('internal', 'something went wrong here, the log has it under this request’s id')
}

/** PostgreSQL's query_canceled, after the longest time of a statement, and lock_not_available. */
const isTimeout = (error: Error): boolean => ['57014', '55P03'].includes(sqlState(error) ?? '')

/** PostgreSQL's connection errors (class 08, 53 and 57P), the socket's, and the driver's about a connection that broke before. */
const isConnectionError = (error: Error): boolean =>
  /^(08|53|57P|ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN)/.test(sqlState(error) ?? '') ||
  /timeout exceeded when trying to connect|Query read timeout|Connection terminated|is not queryable/.test(
    error.message,
  )
