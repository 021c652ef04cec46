import type { Customization } from '#apis/hive.openshift.io/model/customization.ts'

/** As the CRD has it. */
const MAX_APPLIED_CHARS = 262_144

/**
 * The patches of a customization as `status.lastAppliedConfiguration` has them. Null, which leaves it out, when there is no room for all of
 * it: half of it would be no JSON, and no lease must fail for it.
 */
export const formatAppliedPatches = ({
  installConfigPatches,
  clusterDeploymentSpecPatches,
}: Customization): string | null => {
  const text = JSON.stringify({
    ...(installConfigPatches !== undefined && { installConfigPatches }),
    ...(clusterDeploymentSpecPatches !== undefined && { clusterDeploymentSpecPatches }),
  })
  return text.length <= MAX_APPLIED_CHARS ? text : null
}
