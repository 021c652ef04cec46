/** Who may look: whom the API server knows by their token, and lets `get` the path /dashboard. */
import { createHash } from 'node:crypto'
import { judge, type PathWish, type Verdict } from '#operator/authorization.ts'
import type { Transport } from '#operator/client/transport.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'

/** What a viewer must be allowed. It says nothing of namespaces: pages show all that the manager watches. */
export const RIGHT: PathWish = { verb: 'get', path: '/dashboard' }

export interface Guard {
  judge(token: string): Promise<Verdict>
}

/** Milliseconds for which a verdict holds: rights that are taken away end soon. */
const HOLDS = 60_000
/** Verdicts that are kept. */
const MOST = 1_000

/** Asks the API server about each token, once a minute: an open page asks far more often. */
export const guardBy = (transport: Transport, clock: Clock): Guard => {
  /** By the digest of the token: tokens themselves are not kept here. */
  const verdicts = new Map<string, { readonly verdict: Verdict; readonly until: number }>()
  return {
    async judge(token) {
      const key = createHash('sha256').update(token).digest('base64url')
      const now = monotonic(clock)
      const kept = verdicts.get(key)
      if (kept !== undefined && kept.until > now) return kept.verdict
      const verdict = await judge(transport, `Bearer ${token}`, RIGHT)
      // The API server may be back at the next request.
      if (verdict.kind === 'unsure') return verdict
      verdicts.delete(key)
      verdicts.set(key, { verdict, until: now + HOLDS })
      const [oldest] = verdicts.keys()
      if (verdicts.size > MOST && oldest !== undefined) verdicts.delete(oldest)
      return verdict
    },
  }
}
