/** Why a request to the API server failed: it answered with an error, or there was no answer. */

import { errorOf } from '#lib/errors/error-of.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'

/** The parts of Kubernetes' `Status` that a caller can act on. */
export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[]
  readonly retryAfterSeconds?: number
}

/** Kubernetes' `meta/v1 Status`, the body of every error answer and of a watch's ERROR event. */
export interface Status {
  readonly kind: 'Status'
  readonly code?: number
  readonly reason?: string
  readonly message?: string
  readonly details?: StatusDetails
  readonly metadata?: { readonly continue?: string }
}

/** The API server answered, and the answer is an error. `message` is the server's sentence. */
export class ApiError extends errorOf(OPERATOR_ERRORS, 'ApiError') {
  /** HTTP status code. */
  readonly status: number
  /** Kubernetes' CamelCase reason, e.g. NotFound, AlreadyExists, Conflict, Expired, Forbidden; '' when it gave none. */
  readonly reason: string
  /** Milliseconds after which the server wants to be asked again. */
  readonly retryAfter: number | undefined
  readonly details: StatusDetails
  /** On 410 in the middle of a paged list: continues it, with what is true now instead of what was true at its start. */
  readonly continueToken: string | undefined

  constructor(status: Status & { readonly code: number }, retryAfter?: number) {
    super(status.message ?? `the API server answered ${status.code}`)
    this.status = status.code
    this.reason = status.reason ?? ''
    this.details = status.details ?? {}
    this.continueToken = status.metadata?.continue
    const seconds = status.details?.retryAfterSeconds
    this.retryAfter = retryAfter ?? (seconds === undefined || seconds === 0 ? undefined : seconds * 1000)
  }
}

/** No answer: nothing listens, the name is unknown, the certificate is not trusted, the connection was cut or silent. */
export class NetworkError extends errorOf(OPERATOR_ERRORS, 'NetworkError') {
  /** The system's, TLS's or an HttpTimeout's code, e.g. ECONNREFUSED. */
  readonly code: string
  constructor(request: string, cause: unknown) {
    const code = codeOf(cause)
    super(`${request}: ${EXPLANATIONS[code] ?? messageOf(cause)}`, { cause })
    this.code = code
  }
}

const UNTRUSTED = "the server's certificate is not signed by the kubeconfig's certificate-authority"

const EXPLANATIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: no API server listens there',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'the host cannot be reached',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name cannot be looked up at the moment',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another name: set tls-server-name in the kubeconfig",
}

/** With several addresses tried, Node gives an AggregateError that has the first one's code. */
const codeOf = (cause: unknown): string => {
  const { code } = cause as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Is this the answer that an object (or its kind) does not exist? */
export const isNotFound = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 404

/** Does the caller lack the right to it? (403) */
export const isForbidden = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 403

/** Did admission refuse it, by a policy or a webhook, to a caller that has the right to it? */
export const isDenied = (error: unknown): error is ApiError =>
  isForbidden(error) && /^admission webhook "|is forbidden: ValidatingAdmissionPolicy '/.test(error.message)

/** Was the object written since it was read? (409 Conflict, as opposed to 409 AlreadyExists) */
export const isConflict = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status === 409 && error.reason !== 'AlreadyExists'

/** Is there an object of that name already? */
export const isAlreadyExists = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status === 409 && error.reason === 'AlreadyExists'

/** The object may not be as it was sent. */
export const isInvalid = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 422

/** Is the resourceVersion or continue token that was sent too old? (410) */
export const isExpired = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 410
