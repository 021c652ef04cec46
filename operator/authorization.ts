/** Who calls us, and may they? Asked of the API server, so that Kubernetes' own accounts and roles are all there is to manage. */
import { ApiError } from './client/errors.ts'
import type { Transport } from './client/transport.ts'

/** What a caller wants to do. */
export type Wish = ResourceWish | PathWish

/** Kubernetes: NonResourceAttributes. */
export interface PathWish {
  readonly verb: string
  readonly path: string
}

/** Kubernetes: ResourceAttributes. */
export interface ResourceWish {
  readonly verb: string
  readonly group: string
  /** Plural, with a subresource behind a slash. */
  readonly resource: string
  /** All of them when undefined. */
  readonly namespace: string | undefined
  readonly name?: string
}

export type Verdict =
  | { readonly kind: 'allowed'; readonly user: string }
  /** 401: there is no valid token. */
  | { readonly kind: 'unknown' }
  /** 403. */
  | { readonly kind: 'forbidden'; readonly user: string }
  /** 503: the API server can't say, or does not let us ask. */
  | { readonly kind: 'unsure'; readonly why: string }

interface UserInfo {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/**
 * Kubernetes: TokenReview, then SubjectAccessReview; we need what the ClusterRole system:auth-delegator grants.
 * @param header the value of `Authorization`
 */
export const judge = async (
  transport: Transport,
  header: string | undefined,
  wish: Wish,
  signal?: AbortSignal,
): Promise<Verdict> => {
  const [, token] = /^Bearer (\S+)$/i.exec(header ?? '') ?? []
  if (token === undefined) return { kind: 'unknown' }
  const ask = async <T>(path: string, spec: object): Promise<T> => {
    const { status } = await transport.request<{ status: T }>({ method: 'POST', path, body: { spec }, signal })
    return status
  }
  try {
    const review = await ask<{ authenticated?: boolean; user?: UserInfo }>(
      '/apis/authentication.k8s.io/v1/tokenreviews',
      { token },
    )
    const { username: user = '', uid, groups, extra } = review.user ?? {}
    if (review.authenticated !== true || user === '') return { kind: 'unknown' }
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
    const { allowed } = await ask<{ allowed: boolean }>(path, {
      user,
      uid,
      groups,
      extra,
      ...attributesOf(wish),
    })
    return { kind: allowed ? 'allowed' : 'forbidden', user }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    if (error instanceof ApiError && error.status === 403)
      return { kind: 'unsure', why: `${why}: bind our account to the ClusterRole system:auth-delegator` }
    return { kind: 'unsure', why }
  }
}

const attributesOf = (wish: Wish) => {
  if ('path' in wish) return { nonResourceAttributes: wish }
  const { verb, group, namespace, name } = wish
  const [resource, subresource] = wish.resource.split('/')
  return { resourceAttributes: { verb, group, resource, subresource, namespace, name } }
}
