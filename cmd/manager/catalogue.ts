import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { Resource } from '#operator/model/resource.ts'
import type { Permission } from './permission.ts'

/** What the manager must know of a controller before it loads it. */
export interface ControllerEntry {
  /** The custom resources that must be installed. */
  readonly kinds: readonly Resource[]
  readonly permissions: readonly Permission[]
}

export const CONTROLLERS = ['sentinel', 'adapter'] as const

export type ControllerName = (typeof CONTROLLERS)[number]

/** The controllers that `muster manager` can run. */
export const catalogue: Readonly<Record<ControllerName, ControllerEntry>> = {
  sentinel: {
    kinds: [SentinelConfig],
    // Seed: sentinel, ServiceAccount and RBAC. Beyond it: writing status, one Lease a SentinelConfig, and events.
    permissions: [
      { group: 'hyperfleet.redhat.com', resource: 'sentinelconfigs', verbs: ['get', 'list', 'watch'] },
      { group: 'hyperfleet.redhat.com', resource: 'sentinelconfigs/status', verbs: ['get', 'patch'] },
      { group: 'coordination.k8s.io', resource: 'leases', verbs: ['get', 'create', 'update'] },
      { group: 'events.k8s.io', resource: 'events', verbs: ['create', 'patch'] },
    ],
  },
  adapter: {
    kinds: [AdapterTask],
    // What tasks apply, they apply in the name of their own ServiceAccounts: docs/adapters.md.
    permissions: [
      { group: 'hyperfleet.redhat.com', resource: 'adaptertasks', verbs: ['get', 'list', 'watch'] },
      { group: 'hyperfleet.redhat.com', resource: 'adaptertasks/status', verbs: ['get', 'patch'] },
      { group: 'coordination.k8s.io', resource: 'leases', verbs: ['get', 'create', 'update'] },
      { group: 'events.k8s.io', resource: 'events', verbs: ['create', 'patch'] },
      { group: '', resource: 'serviceaccounts', verbs: ['impersonate'] },
    ],
  },
}
