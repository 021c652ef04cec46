/** Access to the dashboard: for users whose token the API server knows and that may `get` the path /dashboard. FLEET-57. */
import { createHash } from 'node:crypto'
import { type AuthorizationResult, authorize, type NonResourceAttributes } from '#operator/authorization.ts'
import type { Transport } from '#operator/client/transport.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'

/** What a viewer must be allowed. It says nothing of namespaces: pages show all that the manager watches. */
export const DASHBOARD_RIGHT: NonResourceAttributes = { verb: 'get', path: '/dashboard' }

export interface Guard {
  authorize(token: string): Promise<AuthorizationResult>
}

/** Milliseconds for which a result holds: rights that are taken away end soon. */
const VERDICT_TTL_MS = 60_000
/** Verdicts that are kept. */
const MAX_VERDICTS = 1_000

/** Asks the API server about each token, once a minute: an open page asks far more often. */
export const createGuard = (transport: Transport, clock: Clock): Guard => {
  /** By the digest of the token: tokens themselves are not kept here. */
  const results = new Map<string, { readonly result: AuthorizationResult; readonly until: number }>()
  return {
    async authorize(token) {
      const key = createHash('sha256').update(token).digest('base64url')
      const now = monotonic(clock)
      const kept = results.get(key)
      if (kept !== undefined && kept.until > now) return kept.result
      const result = await authorize(transport, `Bearer ${token}`, DASHBOARD_RIGHT)
      // The API server may be back at the next request.
      if (result.kind === 'unavailable') return result
      results.delete(key)
      results.set(key, { result, until: now + VERDICT_TTL_MS })
      const [oldest] = results.keys()
      if (results.size > MAX_VERDICTS && oldest !== undefined) results.delete(oldest)
      return result
    },
  }
}
