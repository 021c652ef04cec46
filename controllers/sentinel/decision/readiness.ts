/** Whether a resource is ready, and since when the backoff counts: from the body the API serves, in any of its dialects. */
import type { Condition, ResourceBody } from './resource.ts'

/** The conditions that say ready, the first that is there (SENTINEL-7). */
const READY_CONDITIONS = ['Ready', 'Reconciled'] as const
export type ReadyCondition = (typeof READY_CONDITIONS)[number]

export interface Readiness {
  /** The condition that says so; undefined where none does. */
  readonly condition: ReadyCondition | undefined
  readonly ready: boolean
  /** Milliseconds since the epoch. */
  readonly reference: number
  /** The generation that the reference speaks of; undefined where the API does not say. */
  readonly observedGeneration: number | undefined
  /** False while no adapter ever reported: nothing shows that an adapter was told of the resource. */
  readonly reported: boolean
}

/**
 * Ready is the condition `Ready` or `Reconciled`, else `status.phase` (SENTINEL-7); the reference time is SENTINEL-8.
 * A kind without adapters has neither: no report will ever come, so it counts as ready since its creation (SENTINEL-9).
 * In deletion nothing is ready, whatever a condition says or a kind lacks (SENTINEL-3).
 */
export const readReadiness = ({
  createdAt,
  conditions,
  phase,
  lastTransitionAt,
  deletedAt,
}: ResourceBody): Readiness => {
  const condition = readyCondition(conditions)
  if (condition !== undefined) {
    const reference = condition.lastUpdatedAt ?? lastTransitionAt ?? createdAt
    return {
      // One that says ready of a resource in deletion finds it in no search for what is not ready.
      condition: deletedAt !== undefined && condition.status === 'True' ? undefined : condition.type,
      ready: deletedAt === undefined && condition.status === 'True',
      reference,
      observedGeneration: condition.observedGeneration,
      // The API writes the condition when it creates the resource; only a report moves its time away from there.
      reported: reference > createdAt,
    }
  }
  const reference = lastTransitionAt ?? createdAt
  return {
    condition: undefined,
    ready: deletedAt === undefined && (phase === undefined || phase === 'Ready'),
    reference,
    observedGeneration: undefined,
    reported: reference > createdAt,
  }
}

const readyCondition = (conditions: readonly Condition[]): (Condition & { type: ReadyCondition }) | undefined => {
  for (const type of READY_CONDITIONS) {
    const found = conditions.find((condition) => condition.type === type)
    if (found !== undefined) return { ...found, type }
  }
  return undefined
}
