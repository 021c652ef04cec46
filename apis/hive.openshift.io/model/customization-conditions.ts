/** What is said of a customization whichever pool lists it: whether its patches can be read. Pure. */

import { type ConditionInput, kstatusConditions } from '#operator/model/conditions.ts'
import type { ClusterDeploymentCustomization } from '../v1/clusterdeploymentcustomization.ts'
import { CustomizationError, validateCustomization } from './customization.ts'

/** Ready, or Stalled with the operation that can’t be applied. */
export const buildPatchConditions = ({
  metadata: { name, generation },
  spec,
}: Pick<ClusterDeploymentCustomization, 'metadata' | 'spec'>): readonly ConditionInput[] => {
  const observedGeneration = generation
  try {
    validateCustomization({ name, ...spec })
  } catch (error) {
    if (!(error instanceof CustomizationError)) throw error
    return kstatusConditions({ type: 'Stalled', reason: 'InvalidPatch', message: error.message, observedGeneration })
  }
  const message = 'a pool that lists it may lease it'
  return kstatusConditions({ type: 'Ready', reason: 'Readable', message, observedGeneration })
}
