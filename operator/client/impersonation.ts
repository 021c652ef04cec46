import type { Transport } from './transport.ts'

/** The user name of a ServiceAccount. The API server adds the groups that all of them are in. */
export const serviceAccountUser = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`

/**
 * The same connections, whose requests are made in another user's name: what that user may not do is refused.
 * Kubernetes: user impersonation; we need the verb `impersonate` on that user.
 */
export const impersonating = (transport: Transport, user: string): Transport => {
  const as = { 'impersonate-user': user }
  return {
    server: transport.server,
    request: (request) => transport.request({ ...request, headers: { ...request.headers, ...as } }),
    stream: (request) => transport.stream({ ...request, headers: { ...request.headers, ...as } }),
    // The connections belong to the caller that made the transport.
    close: async () => {},
  }
}
