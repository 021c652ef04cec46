import { errorOf } from '#lib/errors/error-of.ts'
import { API_ERRORS } from '../errors.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { PROBLEMS, type ProblemName } from './problem-types.ts'

/** One thing wrong with one part of a request. */
export interface FieldError {
  /** Dotted path into the body, or a parameter's name. */
  readonly field: string
  readonly message: string
  /** The schema keyword that failed, when a schema found it. */
  readonly constraint?: string
}

/** Thrown by anything that serves a request; answered as problem details (RFC 9457). */
export class Problem extends errorOf(API_ERRORS, 'Problem') {
  readonly problem: ProblemName
  readonly errors: readonly FieldError[]
  /** Sent with the answer. */
  readonly headers: Readonly<Record<string, string>>

  constructor(
    problem: ProblemName,
    detail: string,
    errors: readonly FieldError[] = [],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail)
    this.problem = problem
    this.errors = errors
    this.headers = headers
  }

  get status(): number {
    return PROBLEMS[this.problem].status
  }
}

/** Of one field of a request: its detail is the field's name and then the message, such as 'must be above 0s'. */
export const invalidField = (field: string, message: string): Problem =>
  new Problem('invalid', `${field} ${message}`, [{ field, message }])

/** Most errors that one answer tells; an answer is never much larger than its request (API-84). */
const MAX_ERRORS = 100
const MAX_DETAIL_CHARS = 4_096
const MAX_ERROR_CHARS = 512

const shorten = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}…`

/** The body of an `application/problem+json` answer. */
export const formatProblem = (
  { problem, message, errors }: Problem,
  request: { readonly path: string; readonly traceId: string; readonly time: Timestamp },
): object => {
  const { code, status, slug, title } = PROBLEMS[problem]
  return {
    type: `https://api.hyperfleet.io/errors/${slug}`,
    title,
    status,
    detail: shorten(message, MAX_DETAIL_CHARS),
    instance: request.path,
    code,
    timestamp: request.time,
    trace_id: request.traceId,
    ...(errors.length > 0 && { errors: errors.slice(0, MAX_ERRORS).map(shortenError) }),
  }
}

const shortenError = ({ field, message, ...rest }: FieldError): FieldError => ({
  field: shorten(field, MAX_ERROR_CHARS),
  message: shorten(message, MAX_ERROR_CHARS),
  ...rest,
})
