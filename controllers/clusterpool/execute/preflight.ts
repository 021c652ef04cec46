/**
 * Before a customization is leased: the cluster's API name resolves, and nothing answers there (POOL-61). The name comes from patches that
 * other people write, so little can be made of it: one port, no byte sent, few addresses, none of the manager's own or of the cloud's
 * metadata, and a customization that failed rests (POOL-47).
 */
import type { InstallConfig } from '#apis/hive.openshift.io/model/install-config.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { type ConditionInput, withConditions } from '#operator/model/conditions.ts'
import { CLUSTERPOOL_ERRORS } from '../errors.ts'
import type { CustomizationState } from '../model/customization-state.ts'
import { type ExecuteContext, patchIfUnchanged } from './context.ts'
import { probeApiName } from './probe-api-name.ts'

export class PreflightError extends errorOf(CLUSTERPOOL_ERRORS, 'PreflightError') {}

/**
 * Looks, and writes what was found on the customization when nothing may be installed there.
 * @returns the condition to be written with the lease
 * @throws PreflightError, ApiError, NetworkError
 */
export const requirePreflight = async (
  context: ExecuteContext,
  customization: CustomizationState,
  installConfig: InstallConfig,
): Promise<ConditionInput> => {
  const condition: ConditionInput = {
    type: 'Preflight',
    ...(await probeApiName(apiName(installConfig), context.preflight)),
  }
  if (condition.status === 'True') return condition
  const seen = context.objects.customizations.find(({ metadata }) => metadata.name === customization.name)
  const target = {
    name: customization.name,
    namespace: context.pool.metadata.namespace ?? '',
    resourceVersion: customization.resourceVersion,
  }
  const conditions = withConditions(seen?.status?.conditions, [condition], context.clock.now())
  await patchIfUnchanged(context, ClusterDeploymentCustomization, target, { status: { conditions } }, 'status')
  throw new PreflightError(`preflight: ${condition.message}`)
}

/** Where an installed cluster has its API: OpenShift, `api.<cluster>.<baseDomain>`. */
const apiName = (installConfig: InstallConfig): string => {
  const { metadata, baseDomain } = installConfig as { metadata?: { name?: unknown }; baseDomain?: unknown }
  return `api.${String(metadata?.name)}.${String(baseDomain)}`.toLowerCase()
}
