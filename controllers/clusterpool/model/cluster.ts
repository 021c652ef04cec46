import { type ClusterDeployment, QUOTA_EXCEEDED, UNREACHABLE } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import {
  CUSTOMIZATION_VERSION_ANNOTATION,
  LEASE_FINALIZER,
  PROVIDER_LABEL,
  REMOVE_ANNOTATIONS,
  VERSION_ANNOTATION,
} from '#apis/hive.openshift.io/v1/labels.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { isRestoring, millisecondsOf } from './metadata.ts'
import { type NamespacedName, namespaceOf } from './names.ts'

/** A ClusterDeployment of the pool. */
export interface Cluster extends NamespacedName {
  readonly uid: string
  /** Precondition of every write and of the deletion: a claim may have taken it meanwhile. */
  readonly resourceVersion: string
  readonly createdAt: number
  readonly deleting: boolean
  /** It comes from a backup, and its claim may come later. */
  readonly restoring: boolean
  /** It is being deleted, and nothing but its lease holds it any more. */
  readonly deprovisioned: boolean
  /** Its user is done with it. */
  readonly marked: boolean
  readonly claim: string | undefined
  /** Which one makes it, as its label says. */
  readonly provider: string | undefined
  /** The pool version that it was made with; undefined when none was written. */
  readonly version: string | undefined
  /** The customization that it uses, and that one's version. */
  readonly customization: string | undefined
  readonly customizationVersion: string | undefined
  readonly installed: boolean
  /** What was asked for, and what is. */
  readonly desiredPower: PowerState
  readonly power: string | undefined
  /** Why its installation was given up; undefined when it was not. */
  readonly stopped: string | undefined
  /** What its adapters say is wrong with the present attempt at its installation; undefined when nothing is. */
  readonly failing: string | undefined
  /** For how long its installation has been watched, in milliseconds; undefined when it is installed, or nothing is told of it. POOL-48. */
  readonly installWatched: number | undefined
  /** How it gets on, in words of its condition Ready. */
  readonly progress: string | undefined
  /** Its installation waits for a quota that is used up: in the provider's words. POOL-70 */
  readonly quota: string | undefined
  /** Since when it wakes up; undefined when it doesn't. */
  readonly resumingSince: number | undefined
  /** Its API server, which was reached before, can't be reached: since when, in words, and for how many milliseconds it was asked in vain. POOL-64 */
  readonly unreachable: { readonly since: string; readonly silentMs: number } | undefined
}

export type PowerState = ClusterDeployment['spec']['powerState']

export const clusterOf = ({ metadata, spec, status }: ClusterDeployment): Cluster => {
  const deleting = metadata.deletionTimestamp !== undefined
  const stopped = findCondition(status?.conditions, 'ProvisionStopped')
  const failing = findCondition(status?.conditions, 'ProvisionFailing')
  const hibernating = findCondition(status?.conditions, 'Hibernating')
  const ready = findCondition(status?.conditions, 'Ready')
  return {
    name: metadata.name,
    namespace: namespaceOf(metadata),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    createdAt: millisecondsOf(metadata.creationTimestamp),
    deleting,
    restoring: isRestoring(metadata),
    deprovisioned: deleting && (metadata.finalizers ?? []).every((finalizer) => finalizer === LEASE_FINALIZER),
    marked: REMOVE_ANNOTATIONS.some((annotation) => metadata.annotations?.[annotation] === 'true'),
    claim: spec.clusterPoolRef?.claimName || undefined,
    provider: metadata.labels?.[PROVIDER_LABEL],
    version: metadata.annotations?.[VERSION_ANNOTATION] || undefined,
    customization: spec.clusterPoolRef?.clusterDeploymentCustomization?.name,
    customizationVersion: metadata.annotations?.[CUSTOMIZATION_VERSION_ANNOTATION],
    installed: spec.installed,
    desiredPower: spec.powerState,
    power: status?.powerState,
    stopped: stopped?.status === 'True' ? stopped.message || stopped.reason : undefined,
    failing: failing?.status === 'True' ? failing.message : undefined,
    installWatched:
      spec.installed || status?.installWatch === undefined ? undefined : status.installWatch.seconds * 1_000,
    progress: ready?.message,
    quota: !spec.installed && ready?.reason === QUOTA_EXCEEDED ? ready.message : undefined,
    resumingSince:
      hibernating?.reason === 'ResumingOrRunning' ? millisecondsOf(hibernating.lastTransitionTime) : undefined,
    unreachable: unreachableIn(metadata.uid, status),
  }
}

const unreachableIn = (uid: string, status: ClusterDeployment['status']): Cluster['unreachable'] => {
  const found = findCondition(status?.conditions, UNREACHABLE)
  if (found?.status !== 'True') return undefined
  const { reachability } = status ?? {}
  const silentMs = reachability?.uid === uid ? reachability.silentSeconds * 1_000 : 0
  return { since: found.lastTransitionTime, silentMs }
}
