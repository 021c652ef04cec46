import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { findCondition, isTrue } from '#operator/model/conditions.ts'
import { STOPPED } from './conditions.ts'
import type { Decision } from './decide.ts'

export interface News {
  readonly type: 'normal' | 'warning'
  readonly reason: string
  readonly message: string
}

/** What people should hear of: what the decision changes about the ClusterDeployment as it was. */
export const news = ({ spec, status }: ClusterDeployment, decision: Decision): readonly News[] => {
  const { record, installed, stopped, failed, failing, standing } = decision
  const told: News[] = []
  const tell = (type: News['type'], reason: string, message: string) => told.push({ type, reason, message })
  const before = status?.hyperfleet?.id
  if (record !== undefined && record.id !== before) {
    if (before !== undefined) tell('warning', 'RecordLost', `cluster ${before} was deleted in the HyperFleet API`)
    tell('normal', 'Registered', `cluster ${record.name} of the HyperFleet API, ${record.id}`)
  }
  if (installed && !spec.installed) tell('normal', 'Installed', 'the cluster was installed')
  if (failed > (status?.installAttempts ?? 0)) tell('warning', 'AttemptFailed', `attempt ${failed}: ${failing ?? ''}`)
  if (stopped !== undefined && !isTrue(status?.conditions, STOPPED))
    tell('warning', 'ProvisionStopped', stopped.message)
  const was = findCondition(status?.conditions, 'Ready')?.reason
  if (TROUBLE.includes(standing.reason) && was !== standing.reason) tell('warning', standing.reason, standing.message)
  return told
}

/** Reasons that somebody should look into. */
const TROUBLE: readonly string[] = ['RegistrationConflict', 'DeletedElsewhere']
