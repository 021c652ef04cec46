/** What is said of a customization whichever pool lists it: whether its patches can be read. Pure. */

import { type ConditionClaim, standing } from '#operator/model/conditions.ts'
import type { ClusterDeploymentCustomization } from '../v1/clusterdeploymentcustomization.ts'
import { CustomizationError, validateCustomization } from './customization.ts'

/** Ready, or Stalled with the operation that nobody can apply. */
export const buildPatchConditions = ({
  metadata: { name, generation },
  spec,
}: Pick<ClusterDeploymentCustomization, 'metadata' | 'spec'>): readonly ConditionClaim[] => {
  const observedGeneration = generation
  try {
    validateCustomization({ name, ...spec })
  } catch (error) {
    if (!(error instanceof CustomizationError)) throw error
    return standing({ standing: 'Stalled', reason: 'InvalidPatch', message: error.message, observedGeneration })
  }
  const message = 'a pool that lists it may lease it'
  return standing({ standing: 'Ready', reason: 'Readable', message, observedGeneration })
}
