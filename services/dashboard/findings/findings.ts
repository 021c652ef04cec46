/** Everything that needs a person, the most severe first. FLEET-59. */
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { KubeObject, Resource } from '#operator/model/resource.ts'
import type { Sources } from '../sources.ts'
import { compareFindings, type Finding } from './finding.ts'
import { deploymentFindings, deviceFindings, recoveryFindings } from './fleet.ts'
import { sentinelFindings, taskFindings } from './hyperfleet.ts'
import { claimFindings, clusterFindings, poolFindings } from './inventory.ts'

export const findAll = (sources: Sources, now: Date): readonly Finding[] => {
  const each = <O extends KubeObject>(resource: Resource<O>, find: (object: O, now: Date) => readonly Finding[]) =>
    [...(sources.objects(resource)?.values() ?? [])].flatMap((object) => find(object, now))
  return [
    ...each(ClusterPool, poolFindings),
    ...each(ClusterClaim, claimFindings),
    ...each(ClusterDeployment, clusterFindings),
    ...each(SentinelConfig, sentinelFindings),
    ...each(AdapterTask, taskFindings),
    ...fleetFindings(sources, now),
  ].toSorted(compareFindings)
}

const fleetFindings = (sources: Sources, now: Date): readonly Finding[] => {
  const fleet = sources.fleet()
  if (fleet === undefined) return []
  const objects = sources.objects(Deployment)
  return [
    ...recoveryFindings(fleet.recovery()),
    ...fleet.deployments().flatMap((row) => deploymentFindings(row, objects?.get(row.key), now)),
    ...deviceFindings(fleet.devices()),
  ]
}
