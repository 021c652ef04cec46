/** Why clusters are not made or not deleted although they could be expected to be. */
import type { Action } from '../model/plan.ts'
import type { Sizing, SizingInput } from './sizing.ts'

/** One `Wait` for each thing that a reader of the plan would look for. */
export const explainWaits = (
  { buckets, stale, uncounted, isUnproven, isReplaceable, spec }: SizingInput,
  { add, missing, capacity, concurrent, delete: deletions }: Sizing,
  dependencies: readonly string[],
  blockedReason: string | undefined,
): readonly Action[] => {
  const wait = (about: string, why: string): Action => ({ action: 'Wait', about, why })
  const waits: Action[] = []
  const short = missing - add
  if (short > 0) {
    const limit =
      blockedReason ??
      ((dependencies.length > 0 && `something is missing: ${dependencies.join('; ')}`) ||
        (concurrent <= add && `maxConcurrent is ${spec.maxConcurrent}`) ||
        (capacity <= add && `maxSize is ${spec.maxSize}, claimed clusters included`) ||
        'no other customization is free')
    waits.push(wait('size', `missing clusters that can’t be made yet: ${short}; ${limit}`))
  }
  for (const { name } of uncounted) waits.push(wait(name, 'its failure is written down first, then it is deleted'))
  const gone = new Set(deletions.map(({ cluster }) => cluster))
  const broken = buckets.broken.filter((cluster) => !gone.has(cluster) && !uncounted.has(cluster)).length
  if (broken > 0)
    waits.push(
      wait(
        'broken',
        `broken clusters that stay for now: ${broken}; ${add > 0 ? 'clusters are made first' : 'maxConcurrent allows no more'}`,
      ),
    )
  const left = stale.filter(({ cluster }) => !gone.has(cluster)).length
  if (left > 0)
    waits.push(
      wait(
        'stale',
        isUnproven
          ? `outdated clusters that stay: ${left}; clusters failed with several customizations, and none of the new version was installed`
          : stale.every(({ cluster }) => !isReplaceable(cluster))
            ? `outdated clusters that stay: ${left}; no other could be made in their place`
            : `outdated clusters that are replaced later: ${left}; ${spec.staleReplacement.maxConcurrent} at a time`,
      ),
    )
  return waits
}
