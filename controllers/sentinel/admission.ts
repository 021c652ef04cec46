/** Admission: refuses a SentinelConfig that would pulse resources of another one. Asked for with `--deny-overlap`. */
import type { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { AdmissionContext } from '#operator/engine/context.ts'
import type { Index } from '#operator/engine/indexes.ts'
import { PermanentError } from '#operator/model/errors.ts'
import { describeOverlap, otherShards, parseShard } from './sharding/ownership.ts'

/** @throws PermanentError that names the other SentinelConfig and labels that both select */
export const rejectOverlap =
  (siblings: Index<string, SentinelConfig>, defaultUrl: string | undefined) =>
  ({ object, operation }: AdmissionContext<SentinelConfig>): void => {
    if (operation === 'DELETE') return
    const claimant = parseShard(object, defaultUrl)
    // An invalid spec is refused by the schema, or reported by the loop: it owns nothing.
    const others = otherShards(siblings.get(object.spec.resourceType), object, defaultUrl)
    const overlap = claimant && describeOverlap(claimant, others)
    if (overlap !== undefined)
      throw new PermanentError(`${overlap}: change a shardSelector so that no resource matches both`, {
        reason: 'SelectorsOverlap',
      })
  }
