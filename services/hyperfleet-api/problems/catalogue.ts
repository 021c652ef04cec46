/**
 * Every error that this API answers. One entry a problem: the code is stable, the slug ends its type URI, and
 * docs/reference/api-errors.md explains each. Codes are the peer's where the peer has one.
 */
export const PROBLEMS = {
  invalid: { code: 'HYPERFLEET-VAL-000', status: 400, slug: 'validation-error', title: 'Validation Failed' },
  childKind: { code: 'HYPERFLEET-VAL-000', status: 422, slug: 'validation-error', title: 'Validation Failed' },
  badRequest: { code: 'HYPERFLEET-VAL-005', status: 400, slug: 'bad-request', title: 'Bad Request' },
  malformed: { code: 'HYPERFLEET-VAL-006', status: 400, slug: 'malformed-request', title: 'Malformed Request' },
  tooLarge: { code: 'HYPERFLEET-LMT-002', status: 413, slug: 'request-too-large', title: 'Request Too Large' },
  unauthenticated: {
    code: 'HYPERFLEET-AUT-001',
    status: 401,
    slug: 'authentication-error',
    title: 'Authentication Required',
  },
  invalidCredentials: {
    code: 'HYPERFLEET-AUT-002',
    status: 401,
    slug: 'authentication-error',
    title: 'Invalid Credentials',
  },
  expiredToken: { code: 'HYPERFLEET-AUT-003', status: 401, slug: 'authentication-error', title: 'Invalid Token' },
  forbidden: { code: 'HYPERFLEET-AUZ-001', status: 403, slug: 'permission-denied', title: 'Permission Denied' },
  tooManyRequests: { code: 'HYPERFLEET-LMT-001', status: 429, slug: 'rate-limit', title: 'Too Many Requests' },
  urlTooLong: { code: 'HYPERFLEET-LMT-003', status: 414, slug: 'url-too-long', title: 'URL Too Long' },
  headersTooLarge: { code: 'HYPERFLEET-LMT-004', status: 431, slug: 'headers-too-large', title: 'Headers Too Large' },
  tooSlow: { code: 'HYPERFLEET-LMT-005', status: 408, slug: 'request-timeout', title: 'Request Timeout' },
  unknownPath: { code: 'HYPERFLEET-NTF-000', status: 404, slug: 'not-found', title: 'Endpoint Not Found' },
  notFound: { code: 'HYPERFLEET-NTF-001', status: 404, slug: 'not-found', title: 'Resource Not Found' },
  methodNotAllowed: {
    code: 'HYPERFLEET-NTF-004',
    status: 405,
    slug: 'method-not-allowed',
    title: 'Method Not Allowed',
  },
  duplicate: { code: 'HYPERFLEET-CNF-001', status: 409, slug: 'conflict', title: 'Resource Conflict' },
  conflict: { code: 'HYPERFLEET-CNF-003', status: 409, slug: 'conflict', title: 'State Conflict' },
  staleReceipt: { code: 'HYPERFLEET-CNF-004', status: 409, slug: 'stale-receipt', title: 'Stale Receipt' },
  expired: {
    code: 'HYPERFLEET-WCH-001',
    status: 410,
    slug: 'resource-version-expired',
    title: 'Resource Version Expired',
  },
  internal: { code: 'HYPERFLEET-INT-001', status: 500, slug: 'internal-error', title: 'Internal Server Error' },
  unavailable: { code: 'HYPERFLEET-SVC-001', status: 503, slug: 'service-unavailable', title: 'Service Unavailable' },
} as const

export type ProblemName = keyof typeof PROBLEMS
