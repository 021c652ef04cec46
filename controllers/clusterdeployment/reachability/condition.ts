/** What the condition Unreachable says of a cluster: CLUSTER-19 to CLUSTER-21, CLUSTER-40, CLUSTER-41. Pure. */
import { adminKubeconfigName, defaultSecretName } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import {
  type ClusterDeployment,
  UNREACHABLE,
  UNREACHABLE_FOR_LONG,
} from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { UNREACHABLE_DEADLINE } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { spanOf } from '#apis/schema/span.ts'
import { type Condition, type ConditionInput, findCondition } from '#operator/model/conditions.ts'
import type { Finding, Reachability } from './findings.ts'

/** What one look at the API server of a cluster has shown. */
export type Look =
  | { readonly kind: 'Answers'; readonly apiURL: string }
  | { readonly kind: 'Silent'; readonly apiURL: string; readonly why: string }
  | { readonly kind: 'NoKubeconfig'; readonly why: string }

/** What is known of a cluster beside what was said of it. */
export interface Outage {
  /** Whether it ever answered a manager. */
  readonly isKnown: boolean
  /** Looks without an answer, in a row. */
  readonly failures: number
  /** For how long managers have had no answer. Milliseconds. */
  readonly ms: number
}

/** So many in a row: one packet that is lost is no outage. */
const FAILURES_UNTIL_UNREACHABLE = 3
/** As long as a pool waits that says nothing else. */
export const LONG_MS = spanOf(UNREACHABLE_DEADLINE)

/** No Secret of the name is there yet. */
export const missingKubeconfig = ({ metadata: { name } }: ClusterDeployment): Reachability =>
  unknown(
    'NoKubeconfig',
    `there is no Secret ${defaultSecretName(name)} yet, which its adapters make: looked for again`,
  )

const unknown = (reason: string, message: string): Reachability => ({ status: 'Unknown', reason, message })

/** @param before what was said of it; undefined when nothing was */
export const judge = (
  before: Reachability | undefined,
  look: Look,
  { isKnown, failures, ms }: Outage,
): Reachability => {
  switch (look.kind) {
    case 'Answers':
      return { status: 'False', reason: 'ClusterReachable', message: 'its API server answers' }
    case 'NoKubeconfig':
      return stillUnreachable(before, unknown('KubeconfigUnusable', look.why))
    case 'Silent': {
      // A firewall between the manager and the cluster is no reason to give the cluster up.
      if (!isKnown) return unknown('NotReachedYet', `was never reached from here: ${look.why}`)
      if (before?.status !== 'True' && failures < FAILURES_UNTIL_UNREACHABLE)
        return before?.status === 'False'
          ? before
          : unknown('NotReachedYet', `about to be looked at again: ${look.why}`)
      const isForLong = before?.reason === UNREACHABLE_FOR_LONG || ms >= LONG_MS
      const reason = isForLong ? UNREACHABLE_FOR_LONG : 'ErrorConnectingToCluster'
      return { status: 'True', reason, message: look.why }
    }
  }
}

/** What can't be asked has not answered: it stays unreachable. */
const stillUnreachable = (before: Reachability | undefined, now: Reachability): Reachability =>
  before?.status === 'True' && now.status === 'Unknown'
    ? { status: 'True', reason: before.reason, message: `did not answer when it was asked last; now ${now.message}` }
    : now

/** What was said of this ClusterDeployment, and of none whose status it has from a backup. */
export const saidBefore = ({ metadata: { uid }, status }: ClusterDeployment): Condition | undefined =>
  status?.reachability === undefined || status.reachability.uid === uid
    ? findCondition(status?.conditions, UNREACHABLE)
    : undefined

/** With what a manager begins. One that was called unreachable by an earlier release was silent for as long as that says. */
export const knownBefore = (cluster: ClusterDeployment): Pick<Outage, 'isKnown' | 'ms'> => {
  const before = saidBefore(cluster)
  const { reachability } = cluster.status ?? {}
  if (reachability?.uid === cluster.metadata.uid) return { isKnown: true, ms: reachability.silentSeconds * 1_000 }
  const isKnown = before !== undefined && before.status !== 'Unknown'
  return { isKnown, ms: before?.reason === UNREACHABLE_FOR_LONG ? LONG_MS : 0 }
}

/** What the status keeps for the manager and the ClusterPool that read it next; undefined while it was never reached. */
export const nextReachability = (
  cluster: ClusterDeployment,
  { power }: State,
  finding: Finding | undefined,
): NonNullable<ClusterDeployment['status']>['reachability'] => {
  const { uid } = cluster.metadata
  const { isKnown, ms } = knownBefore(cluster)
  // What does not run owes no answer.
  if (isKnown && !isRunning(cluster, power)) return { uid, silentSeconds: 0 }
  if (finding?.silentSeconds !== undefined) return { uid, silentSeconds: finding.silentSeconds }
  return isKnown ? { uid, silentSeconds: ms / 1_000 } : undefined
}

/** It is there and runs, as far as its adapters say: is its API server looked at? */
export const isProbed = (cluster: ClusterDeployment): boolean =>
  mayBeUsed(cluster) && adminKubeconfigName(cluster) !== undefined && isRunning(cluster, cluster.status?.powerState)

/** Is its kubeconfig looked for? Until the ClusterDeployment names it and its URL is known, be it by a probe. */
export const needsKubeconfig = (cluster: ClusterDeployment): boolean =>
  mayBeUsed(cluster) &&
  !isProbed(cluster) &&
  (adminKubeconfigName(cluster) === undefined || cluster.status?.apiURL === undefined)

const mayBeUsed = ({ metadata, spec }: ClusterDeployment): boolean =>
  spec.installed && metadata.deletionTimestamp === undefined

const isRunning = ({ spec }: ClusterDeployment, power: string | undefined): boolean =>
  spec.powerState === 'Running' && power === 'Running'

/** As far as it is known in the pass that writes it. */
interface State {
  readonly installed: boolean
  readonly power: string | undefined
}

/** Nothing when there is nothing new to say. */
export const unreachableConditions = (
  cluster: ClusterDeployment,
  { installed, power }: State,
  finding: Finding | undefined,
): readonly ConditionInput[] => {
  const input = (condition: Reachability): readonly ConditionInput[] => [{ type: UNREACHABLE, ...condition }]
  if (!installed) return []
  const before = saidBefore(cluster)
  if (adminKubeconfigName(cluster) === undefined)
    return input(stillUnreachable(before, finding?.unreachable ?? missingKubeconfig(cluster)))
  if (!isRunning(cluster, power)) return input(unknown('NotRunning', 'is not looked at while the cluster does not run'))
  if (finding !== undefined) return input(stillUnreachable(before, finding.unreachable))
  const isKnown = before !== undefined && before.status !== 'Unknown'
  return isKnown ? [] : input(unknown('NotReachedYet', 'about to be looked at'))
}
