import { type ClusterDeployment, QUOTA_EXCEEDED } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { findCondition, isTrue } from '#operator/model/conditions.ts'
import { LEFT_BEHIND, STOPPED } from './conditions.ts'
import type { Decision } from './decision.ts'

export interface DeploymentEvent {
  readonly type: 'normal' | 'warning'
  readonly reason: string
  readonly message: string
}

/** What people should hear of: what the decision changes about the ClusterDeployment as it was. */
export const buildEvents = ({ spec, status }: ClusterDeployment, decision: Decision): readonly DeploymentEvent[] => {
  const { record, installed, stopped, failed, failing, kstatus } = decision
  const events: DeploymentEvent[] = []
  const add = (type: DeploymentEvent['type'], reason: string, message: string) => events.push({ type, reason, message })
  const before = status?.hyperfleet?.id
  if (record !== undefined && record.id !== before) {
    if (before !== undefined) add('warning', 'RecordLost', `cluster ${before} was deleted in the HyperFleet API`)
    add('normal', 'Registered', `cluster ${record.name} of the HyperFleet API, ${record.id}`)
  }
  if (installed && !spec.installed) add('normal', 'Installed', 'the cluster was installed')
  if (failed > (status?.installAttempts ?? 0)) add('warning', 'AttemptFailed', `attempt ${failed}: ${failing ?? ''}`)
  if (stopped !== undefined && !isTrue(status?.conditions, STOPPED)) add('warning', 'ProvisionStopped', stopped.message)
  const was = findCondition(status?.conditions, 'Ready')?.reason
  if (WARNING_REASONS.includes(kstatus.reason) && was !== kstatus.reason)
    add('warning', kstatus.reason, kstatus.message)
  return events
}

/** Reasons that a person should look into. */
const WARNING_REASONS: readonly string[] = ['RegistrationConflict', 'DeletedElsewhere', LEFT_BEHIND, QUOTA_EXCEEDED]
