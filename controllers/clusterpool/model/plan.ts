/** What a pass wants done, as data: it is executed, printed and tested. Each action stands for itself; when one fails, the others go on. */

import type { ClusterPoolStatus } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { Subject } from '#apis/kubernetes.ts'
import type { Candidate } from '../inventory/candidates.ts'
import type { LeaseEnd } from '../lease/history.ts'
import type { Claim } from './claim.ts'
import type { Cluster, PowerState } from './cluster.ts'
import type { CustomizationState } from './customization-state.ts'
import type { NamespacedName } from './names.ts'
import type { ProviderBinding, ProviderRole } from './provider.ts'

/** Every action says why, in one sentence for people. */
interface WithReason {
  readonly why: string
}

export type Action = WithReason &
  (
    | {
        /** Write the whole status; an entry of the inventory that is not in it goes. */
        readonly action: 'WriteStatus'
        readonly status: ClusterPoolStatus
      }
    | ({
        /** Take the lease unless it is held, then make namespace, Secrets and, last of all, the ClusterDeployment. */
        readonly action: 'CreateCluster'
        readonly poolVersion: string
      } & Candidate)
    | {
        readonly action: 'DeleteCluster'
        readonly cluster: Cluster
        /** It goes only because it is outdated. */
        readonly isStale: boolean
      }
    | {
        /** Write the lease as it is: a cluster uses the customization, and what stands there says otherwise. */
        readonly action: 'RepairLease'
        readonly customization: CustomizationState
        readonly cluster: Cluster
      }
    | {
        /** Write that the customization is available, then take the lease's finalizer off. */
        readonly action: 'ReleaseLease'
        readonly customization: CustomizationState
        readonly end: LeaseEnd
      }
    | {
        /** Release the lease when there is one, then take its finalizer off the cluster, which goes. */
        readonly action: 'RemoveClusterFinalizer'
        readonly cluster: Cluster
        readonly customization: CustomizationState | undefined
        readonly end: LeaseEnd
      }
    | {
        /** Write what is missing of: the claim's namespace, the claim's status, the cluster's claim with the time and power. */
        readonly action: 'AssignClaim'
        readonly claim: Claim
        readonly cluster: Cluster
      }
    | {
        /** Take the namespace out of the claim: the cluster there is not its own. */
        readonly action: 'ClearClaim'
        readonly claim: Claim
        readonly cluster: Cluster
      }
    | {
        /** Write into the claim's status that it waits; the message of its condition Pending is `why`. */
        readonly action: 'QueueClaim'
        readonly claim: Claim
        readonly position: number
      }
    | { readonly action: 'SetPower'; readonly cluster: Cluster; readonly power: PowerState }
    | ({ readonly action: 'BindAdmins' } & AdminBinding)
    | {
        /** Write the binding, in the place of one of its name that refers to something else. */
        readonly action: 'BindProvider'
        readonly namespace: string
        readonly role: ProviderRole
        readonly there: ProviderBinding | undefined
      }
    | { readonly action: 'DeleteNamespace'; readonly name: string; readonly uid: string }
    | { readonly action: 'RemovePoolFinalizer' }
    | {
        /** Something that could be expected is not done. */
        readonly action: 'Wait'
        readonly about: string
      }
  )

/** What there was, for metrics. Names as those of Hive's metrics. */
export interface Counts {
  readonly assignable: number
  readonly claimed: number
  /** Marked ones included. */
  readonly deleting: number
  readonly installing: number
  readonly standby: number
  readonly broken: number
  readonly stale: number
  /** Leases that the pool holds. */
  readonly leases: number
  /** Deletions that wait for a person. */
  readonly held: number
  /** Claims that wait. */
  readonly waiting: number
}

/** What a pass decided. */
export interface Plan {
  readonly pool: NamespacedName
  readonly actions: readonly Action[]
  /** When time alone will change the plan; undefined when it won't. */
  readonly recheckAt: Date | undefined
  readonly counts: Counts
}

/** A binding to write; without subjects it is deleted. */
export interface AdminBinding {
  readonly namespace: string
  readonly subjects: readonly Subject[]
  /** One is there that gives another role: it goes first. */
  readonly isOfOtherRole?: boolean
}
