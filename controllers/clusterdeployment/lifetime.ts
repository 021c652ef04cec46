/** How long a ClusterDeployment may exist, by Hive's annotation. Pure. */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { DurationError, parseDuration } from '#operator/model/duration.ts'

/** Its value is a duration, counted from the creation of the object. CLUSTER-70. */
const DELETE_AFTER = 'hive.openshift.io/delete-after'

/** No clock reckons with more, so it never comes: ten years. */
const LONGEST_MS = 87_600 * 3_600_000

export interface Lifetime {
  /** Milliseconds since the epoch; undefined: it never expires. */
  readonly expiresAt: number | undefined
  /** Why it never does though the annotation is there. */
  readonly problem?: string
}

export const lifetimeOf = ({ metadata: { annotations, creationTimestamp } }: ClusterDeployment): Lifetime => {
  const text = annotations?.[DELETE_AFTER]
  if (text === undefined || creationTimestamp === undefined) return { expiresAt: undefined }
  try {
    const lifetime = parseDuration(text)
    return { expiresAt: lifetime > LONGEST_MS ? undefined : Date.parse(creationTimestamp) + lifetime }
  } catch (error) {
    if (!(error instanceof DurationError)) throw error
    return { expiresAt: undefined, problem: `annotation ${DELETE_AFTER}: ${error.message}` }
  }
}

export const isExpired = (deployment: ClusterDeployment, now: Date): boolean => {
  const { expiresAt } = lifetimeOf(deployment)
  return expiresAt !== undefined && expiresAt <= now.getTime()
}

/** For people. */
export const describeExpiry = ({ metadata }: ClusterDeployment): string =>
  `it has existed for longer than ${metadata.annotations?.[DELETE_AFTER]} (annotation ${DELETE_AFTER}), and is deleted`
