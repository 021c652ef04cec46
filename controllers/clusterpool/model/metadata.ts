import { RESTORE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import type { ObjectMeta } from '#operator/model/resource.ts'

/** It comes from a backup, whose other objects may come later: POOL-52. */
export const isRestoring = ({ labels }: ObjectMeta): boolean => labels?.[RESTORE_LABEL] === 'true'

/** Milliseconds since the epoch; undefined when it is not being deleted. */
export const deletedAt = ({ deletionTimestamp }: ObjectMeta): number | undefined =>
  deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp)

/** An object that the API server has not stamped yet is as old as can be: it was made before this pass. */
export const millisecondsOf = (text: string | undefined): number => (text === undefined ? 0 : Date.parse(text))
