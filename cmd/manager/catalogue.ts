import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { Resource } from '#operator/model/resource.ts'
import type { Permission } from './permission.ts'
import { permissions } from './permissions.ts'

/** What the manager must know of a controller before it loads it. */
export interface ControllerEntry {
  /** The custom resources that must be installed. */
  readonly kinds: readonly Resource[]
  readonly permissions: readonly Permission[]
}

export const CONTROLLERS = [
  'sentinel',
  'adapter',
  'clusterpool',
  'clusterclaim',
  'clusterdeployment',
  'clusterdevice',
  'fleet',
] as const

export type ControllerName = (typeof CONTROLLERS)[number]

/** The controllers that `muster manager` can run. */
export const catalogue: Readonly<Record<ControllerName, ControllerEntry>> = {
  sentinel: { kinds: [SentinelConfig], permissions: permissions.sentinel },
  adapter: { kinds: [AdapterTask], permissions: permissions.adapter },
  clusterpool: {
    kinds: [ClusterPool, ClusterClaim, ClusterDeployment, ClusterDeploymentCustomization],
    permissions: permissions.clusterpool,
  },
  clusterclaim: { kinds: [ClusterPool, ClusterClaim, ClusterDeployment], permissions: permissions.clusterclaim },
  clusterdeployment: {
    kinds: [ClusterDeployment, ClusterDeploymentCustomization],
    permissions: permissions.clusterdeployment,
  },
  clusterdevice: { kinds: [ClusterDeployment, Device], permissions: permissions.clusterdevice },
  fleet: { kinds: [Deployment, Device], permissions: permissions.fleet },
}
