import { ApiError, isNotFound, NetworkError } from '#operator/client/errors.ts'
import type { Transport } from '#operator/client/transport.ts'
import { describePermission, type Permission } from '#operator/model/permission.ts'
import { apiVersionOf, type Resource } from '#operator/model/resource.ts'
import { Failure } from '../failure.ts'

/** What has to be there before controllers can work. */
export interface Needs {
  readonly kinds: readonly Resource[]
  readonly permissions: readonly Permission[]
  /** Where; all namespaces when undefined. */
  readonly namespace: string | undefined
  /** Where this process keeps its own objects. */
  readonly home: string
  /** Where the accounts are that adapter tasks act as; where it watches when undefined. */
  readonly taskAccounts?: string | undefined
}

/**
 * Asks the API server whether everything that the controllers need is there, so that what is missing is one line at the
 * start and not an endless retry.
 * @throws Failure that says what is missing and how to remedy it
 */
export const preflight = async (transport: Transport, needs: Needs, signal?: AbortSignal): Promise<void> => {
  const ask = asking(transport, signal)
  for (const kind of needs.kinds) await mustBeInstalled(ask, transport.server, kind)
  await mustBeAllowed(ask, needs)
}

type Ask = <T>(path: string, body?: object) => Promise<T>

/** One request whose failure is told in terms of the manager's flags. */
const asking =
  (transport: Transport, signal: AbortSignal | undefined): Ask =>
  async (path, body) => {
    try {
      return await transport.request({ method: body === undefined ? 'GET' : 'POST', path, body, signal })
    } catch (error) {
      if (error instanceof NetworkError) {
        const choose = 'start it, or name another one with --kubeconfig or --context'
        throw new Failure(`the API server does not answer (${error.message}): ${choose}`, { cause: error })
      }
      if (error instanceof ApiError && error.status === 401) {
        const remedy = 'the token or certificate of the kubeconfig is wrong or has expired: get a new one'
        throw new Failure(`the API server ${transport.server} does not know us: ${remedy}`, { cause: error })
      }
      if (error instanceof ApiError && (error.status === 429 || error.status >= 500)) {
        const remedy = 'start the manager again when "kubectl get --raw /readyz" says ok'
        throw new Failure(`the API server ${transport.server} can't serve now (${error.message}): ${remedy}`, {
          cause: error,
        })
      }
      throw error
    }
  }

const mustBeInstalled = async (ask: Ask, server: string, kind: Resource): Promise<void> => {
  const missing = (cause?: unknown) =>
    new Failure(
      `the API server ${server} has no ${kind.plural}.${kind.group}: run "muster crds | kubectl apply --server-side -f -"`,
      { cause },
    )
  try {
    const { resources } = await ask<{ resources: readonly { name: string }[] }>(`/apis/${apiVersionOf(kind)}`)
    if (!resources.some(({ name }) => name === kind.plural)) throw missing()
  } catch (error) {
    throw isNotFound(error) ? missing(error) : error
  }
}

/** Kubernetes: SelfSubjectAccessReview, which every authenticated client may create. */
const mustBeAllowed = async (ask: Ask, { permissions, namespace, home, taskAccounts }: Needs): Promise<void> => {
  const placeOf = ({ scope }: Permission): string | undefined => {
    if (scope === 'Cluster') return undefined
    if (scope === 'Home') return home
    return scope === 'TaskAccounts' ? (taskAccounts ?? namespace) : namespace
  }
  const isAllowed = async (permission: Permission, verb: string): Promise<boolean> => {
    const { group, resource: path, name } = permission
    const [resource, subresource] = path.split('/')
    const { status } = await ask<{ status: { allowed: boolean } }>(
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      { spec: { resourceAttributes: { group, resource, subresource, verb, name, namespace: placeOf(permission) } } },
    )
    return status.allowed
  }
  // One after the other, over one connection: a dozen at once would open a dozen, and each TLS connection takes a megabyte for good.
  const missing: Permission[] = []
  for (const permission of permissions) {
    const verbs: string[] = []
    for (const verb of permission.verbs) if (!(await isAllowed(permission, verb))) verbs.push(verb)
    if (verbs.length > 0) missing.push({ ...permission, verbs })
  }
  if (missing.length === 0) return
  const whereOf = (permission: Permission) => {
    const place = placeOf(permission)
    return place === undefined ? 'all namespaces' : `namespace ${place}`
  }
  const lacks = [...Map.groupBy(missing, whereOf)].map(
    ([where, permissions]) => `${permissions.map(describePermission).join('; ')} in ${where}`,
  )
  const remedy = 'grant it as the Roles in kustomize/base/rbac do, or set --namespace to where it is granted'
  throw new Failure(`${await whoWeAre(ask)} may not ${lacks.join('; nor ')}: ${remedy}`)
}

/** Kubernetes: SelfSubjectReview. `ServiceAccount ns/name`, or the user's name. */
const whoWeAre = async (ask: Ask): Promise<string> => {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const { status } = await ask<{ status: { userInfo: { username: string } } }>(
    '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    review,
  )
  const { username } = status.userInfo
  const [, account] = /^system:serviceaccount:(.+)$/.exec(username) ?? []
  return account === undefined ? `user ${JSON.stringify(username)}` : `ServiceAccount ${account.replace(':', '/')}`
}
