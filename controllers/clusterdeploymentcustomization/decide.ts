import { isDeepStrictEqual } from 'node:util'
import { buildPatchConditions } from '#apis/hive.openshift.io/model/customization-conditions.ts'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { withConditions } from '#operator/model/conditions.ts'

/** The one write that a customization needs: its finalizers, or its status. */
export type Plan =
  | { readonly write: 'finalizers'; readonly finalizers: readonly string[] }
  | { readonly write: 'status'; readonly status: ClusterDeploymentCustomization['status'] }

/** @param now the time of conditions that change @returns undefined when all is as it must be */
export const planWrite = (object: ClusterDeploymentCustomization, now: Date): Plan | undefined => {
  const { metadata, status } = object
  if (hasLeftoverFinalizer(object))
    return {
      write: 'finalizers',
      finalizers: metadata.finalizers?.filter((finalizer) => finalizer !== LEASE_FINALIZER) ?? [],
    }
  const { generation } = metadata
  const change = {
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: [...withConditions(status?.conditions, buildPatchConditions(object), now)],
  }
  return isDeepStrictEqual({ ...status, ...change }, status) ? undefined : { write: 'status', status: change }
}

/**
 * A lease is two writes, to its status and to its finalizers, and a manager may have been cut off between them. Pools repair what they
 * list; one that no pool lists any more would never go (POOL-9).
 */
const hasLeftoverFinalizer = ({
  metadata: { deletionTimestamp, finalizers = [] },
  status,
}: ClusterDeploymentCustomization): boolean =>
  deletionTimestamp !== undefined && finalizers.includes(LEASE_FINALIZER) && status?.clusterDeploymentRef === undefined
