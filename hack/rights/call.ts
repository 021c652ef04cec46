/** A request of a ServiceAccount, as far as its rights go. */
export interface Call {
  /** The ServiceAccount, whatever its namespace. */
  readonly account: string
  readonly verb: string
  /** '' for the core group. */
  readonly group: string
  /** Plural, with a subresource behind a slash. */
  readonly resource: string
  /** Of the object, where the request names one. */
  readonly name?: string
}

/** Kubernetes: audit.k8s.io/v1 Event, as far as it is read. */
interface AuditEvent {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly impersonatedUser?: { readonly username: string }
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource?: string
    readonly subresource?: string
    readonly name?: string
  }
  readonly responseStatus?: { readonly code?: number; readonly message?: string }
}

/** What every authenticated client may do. Kubernetes: ClusterRole system:basic-user. */
const ABOUT_ONESELF = ['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'selfsubjectreviews']

/**
 * What one line of an API server's audit log says was called: nothing when it isn't about an object or not by a ServiceAccount,
 * and two calls for an apply that creates, because the API server asks for both rights.
 * @throws SyntaxError when the line is not whole, as the last one of an API server that was killed
 */
export const callsOf = (line: string): readonly Call[] => {
  const { verb, user, impersonatedUser, objectRef, responseStatus }: AuditEvent = JSON.parse(line)
  const account = accountOf(user.username)
  if (account === undefined) return []
  // What is done in another name needs the other one's rights, and of one's own only this one.
  const impersonate: Call = { account, verb: 'impersonate', group: '', resource: 'serviceaccounts' }
  if (impersonatedUser !== undefined) {
    const name = accountOf(impersonatedUser.username)
    return [{ ...impersonate, ...(name !== undefined && { name }) }]
  }
  // An API server that has just begun knows no rights yet: whose name it was, only its refusal tells.
  if (responseStatus?.code === 403 && /cannot impersonate\b/.test(responseStatus.message ?? '')) return [impersonate]
  if (objectRef?.resource === undefined || ABOUT_ONESELF.includes(objectRef.resource)) return []
  const { apiGroup: group = '', resource, subresource, name } = objectRef
  const call: Call = {
    account,
    verb,
    group,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    ...(name !== undefined && { name }),
  }
  return verb === 'patch' && responseStatus?.code === 201 ? [call, { ...call, verb: 'create' }] : [call]
}

const accountOf = (user: string): string | undefined => /^system:serviceaccount:[^:]+:(.+)$/.exec(user)?.[1]
