import { errorOf } from '#lib/errors/error-of.ts'
import type { ApiErrors } from '../errors.ts'
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
export class Problem extends errorOf<ApiErrors>('Problem') {
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
    detail: message,
    instance: request.path,
    code,
    timestamp: request.time,
    trace_id: request.traceId,
    ...(errors.length > 0 && { errors }),
  }
}
