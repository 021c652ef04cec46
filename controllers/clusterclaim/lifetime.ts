/** How long a claim lives: CLAIM-5. */
import type { ClusterClaimSpec } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { spanOf } from '#apis/schema/span.ts'

/**
 * The lifetime that holds, as it was written: the claim's own or else the pool's default, and never more than the pool's
 * maximum. Undefined: it lives until it is deleted.
 * @param limits The pool's; undefined when there is no such pool.
 */
export const effectiveLifetime = (
  lifetime: ClusterClaimSpec['lifetime'],
  limits: ClusterPoolSpec['claimLifetime'],
): ClusterClaimSpec['lifetime'] => {
  const requested = lifetime ?? limits?.default
  const most = limits?.maximum
  if (requested === undefined || most === undefined) return requested ?? most
  return spanOf(requested) <= spanOf(most) ? requested : most
}

/**
 * When a claim is over.
 * @param claimedAt When it got its cluster: waiting costs no lifetime. Milliseconds since the epoch.
 */
export const expiryOf = (lifetime: NonNullable<ClusterClaimSpec['lifetime']>, claimedAt: number): Date =>
  new Date(claimedAt + spanOf(lifetime))
