/** Authenticates and authorizes callers by the API server, so that Kubernetes' accounts and roles are all there is to manage. */
import { isForbidden } from './client/errors.ts'
import type { Transport } from './client/transport.ts'

/** What tokens are for that people and programs show to a manager. */
const AUDIENCE = 'muster'

/** What to say of a token that is not taken because the API server would take it. RUNTIME-77. */
export const REPLAYABLE = `this token opens the API server too, so a manager that is shown it could act as you: make one with --audience=${AUDIENCE}`

/** What a caller wants to do. */
export type AccessAttributes = ResourceAttributes | NonResourceAttributes

/** Kubernetes: NonResourceAttributes. */
export interface NonResourceAttributes {
  readonly verb: string
  readonly path: string
}

/** Kubernetes: ResourceAttributes. */
export interface ResourceAttributes {
  readonly verb: string
  readonly group: string
  /** Plural, with a subresource behind a slash. */
  readonly resource: string
  /** All of them when undefined. */
  readonly namespace: string | undefined
  readonly name?: string
}

export type AuthorizationResult =
  | { readonly kind: 'allowed'; readonly user: string }
  /** 401: there is no valid token. */
  | { readonly kind: 'unauthenticated' }
  /** 401: we could act as the caller at the API server. */
  | { readonly kind: 'replayable' }
  /** 403. */
  | { readonly kind: 'forbidden'; readonly user: string }
  /** 503: the API server can't say, or does not let us review. */
  | { readonly kind: 'unavailable'; readonly reason: string }

interface UserInfo {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

interface TokenReview {
  readonly authenticated?: boolean
  readonly audiences?: readonly string[]
  readonly user?: UserInfo
}

/**
 * Kubernetes: TokenReview, then SubjectAccessReview; we need what the ClusterRole system:auth-delegator grants.
 * @param header the value of `Authorization`
 */
export const authorize = async (
  transport: Transport,
  header: string | undefined,
  attributes: AccessAttributes,
  signal?: AbortSignal,
): Promise<AuthorizationResult> => {
  const [, token] = /^Bearer (\S+)$/i.exec(header ?? '') ?? []
  if (token === undefined) return { kind: 'unauthenticated' }
  const post = async <T>(path: string, spec: object): Promise<T> => {
    const { status } = await transport.request<{ status: T }>({ method: 'POST', path, body: { spec }, signal })
    return status
  }
  try {
    const reviewed = (spec: object) => post<TokenReview>('/apis/authentication.k8s.io/v1/tokenreviews', spec)
    // Without audiences the API server says whether it would take the token itself.
    const [review, own] = await Promise.all([reviewed({ token, audiences: [AUDIENCE] }), reviewed({ token })])
    if (own.authenticated === true) return { kind: 'replayable' }
    const { username: user = '', uid, groups, extra } = review.user ?? {}
    const isForUs = review.authenticated === true && review.audiences?.includes(AUDIENCE) === true
    if (!isForUs || user === '') return { kind: 'unauthenticated' }
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
    const { allowed } = await post<{ allowed: boolean }>(path, {
      user,
      uid,
      groups,
      extra,
      ...attributesOf(attributes),
    })
    return { kind: allowed ? 'allowed' : 'forbidden', user }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    if (isForbidden(error))
      return { kind: 'unavailable', reason: `${reason}: bind our account to the ClusterRole system:auth-delegator` }
    return { kind: 'unavailable', reason }
  }
}

const attributesOf = (attributes: AccessAttributes) => {
  if ('path' in attributes) return { nonResourceAttributes: attributes }
  const { verb, group, namespace, name } = attributes
  const [resource, subresource] = attributes.resource.split('/')
  return { resourceAttributes: { verb, group, resource, subresource, namespace, name } }
}
