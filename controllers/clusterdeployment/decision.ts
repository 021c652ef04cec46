/** What goes into a decision about a ClusterDeployment, and what comes out. */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { KstatusInput } from '#operator/model/conditions.ts'
import type { GoneCluster } from './gone-clusters.ts'
import type { Loss } from './lost-clusters.ts'
import type { CurrentPower } from './power.ts'
import type { KubernetesUids } from './record/origin.ts'
import type { ClusterRecord } from './record/record.ts'

/** What was read; from caches first, and again from the API servers when something is to be done. */
export interface Observed {
  readonly deployment: ClusterDeployment
  /** Records with its registration, and the one that its status names; the oldest first. */
  readonly records: readonly ClusterRecord[]
  readonly kubernetes: KubernetesUids
  /** Its records that the API does not have any more; undefined when that was not read. */
  readonly gone?: readonly GoneCluster[]
  /** Until when it is not registered for these; undefined when they are no reason to wait. */
  readonly loss?: Loss | undefined
  /** Why the cluster must not be made with its customization; undefined when it may, or when it was not read. */
  readonly readLeaseProblem?: string | undefined
  /** Another cluster that the API has with its customization; undefined when there is none, or when it was not read. */
  readonly otherUser?: ClusterRecord | undefined
  /** Why the install-config can't be read; undefined when it can, or when it was not read. */
  readonly installConfigProblem?: string | undefined
}

/** The one thing to do next. */
export type Step =
  | { readonly do: 'Nothing' }
  /** Write down by which id the cluster is registered. */
  | { readonly do: 'Mark'; readonly registration: string }
  | { readonly do: 'Register'; readonly registration: string; readonly name: string; readonly attempt: number }
  /** Write labels and spec. `anew`: with the install-config as it is now, because another attempt begins. */
  | {
      readonly do: 'Change'
      readonly record: ClusterRecord
      readonly labels: Readonly<Record<string, string>>
      readonly attempt: number
      readonly anew: boolean
    }
  /** Delete a second record of the same registration: the oldest one is the cluster. */
  | { readonly do: 'Withdraw'; readonly record: ClusterRecord }
  /** Write that it is to sleep: it has run for its hibernateAfter. */
  | { readonly do: 'Hibernate'; readonly why: string }

export interface Decision {
  readonly step: Step
  readonly kstatus: Omit<KstatusInput, 'observedGeneration'>
  /** The cluster; undefined while it is not registered. */
  readonly record: ClusterRecord | undefined
  readonly installed: boolean
  /** undefined before the installation. */
  readonly power: CurrentPower | undefined
  /** How many attempts at the installation have failed, and what is wrong with the present one. */
  readonly failed: number
  readonly failing: string | undefined
  /** Its installation waits for a quota: in the adapters' words. CLUSTER-23. */
  readonly quota: string | undefined
  /** Why there will be no cluster. */
  readonly stopped: { readonly reason: string; readonly message: string } | undefined
  /** When it has run for long enough, in milliseconds since the epoch; undefined when it need not be put to sleep. */
  readonly hibernatesAt: number | undefined
  /** When time alone changes the decision, in milliseconds since the epoch. */
  readonly recheckAt: number | undefined
  /** Adapters may have left something of a lost record: why it is not registered again, for people. */
  readonly leftBehind?: string | undefined
  /** What is known of records that are gone; undefined when that was not read. */
  readonly gone?: readonly GoneCluster[] | undefined
}

export type KstatusSummary = Decision['kstatus']
