/** What the condition Unreachable says of a cluster: CLUSTER-19 to CLUSTER-21. Pure. */
import { adminKubeconfigName, defaultSecretName } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import {
  type ClusterDeployment,
  UNREACHABLE,
  UNREACHABLE_FOR_LONG,
} from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { type ConditionInput, findCondition } from '#operator/model/conditions.ts'
import type { Finding, Reachability } from './findings.ts'

/** What one look at the API server of a cluster has shown. */
export type Look =
  | { readonly kind: 'Answers'; readonly apiURL: string }
  | { readonly kind: 'Silent'; readonly apiURL: string; readonly why: string }
  | { readonly kind: 'NoKubeconfig'; readonly why: string }

/** Of looks that were in vain: how many in a row, and for how long this process has seen nothing else. */
export interface Outage {
  readonly failures: number
  readonly ms: number
}

/** So many in a row: one packet that is lost is no outage. */
const FAILURES_UNTIL_UNREACHABLE = 3
/** What a pool replaces has been gone for longer than a reboot of machines takes, or a repair of the network in between. */
export const LONG_MS = 30 * 60_000

/** No Secret of the name is there yet. */
export const missingKubeconfig = ({ metadata: { name } }: ClusterDeployment): Reachability =>
  unknown(
    'NoKubeconfig',
    `there is no Secret ${defaultSecretName(name)} yet, which its adapters make: looked for again`,
  )

const unknown = (reason: string, message: string): Reachability => ({ status: 'Unknown', reason, message })

/** @param before what was said of it; undefined when nothing was */
export const judge = (before: Reachability | undefined, look: Look, { failures, ms }: Outage): Reachability => {
  switch (look.kind) {
    case 'Answers':
      return { status: 'False', reason: 'ClusterReachable', message: 'its API server answers' }
    case 'NoKubeconfig':
      return unknown('KubeconfigUnusable', look.why)
    case 'Silent': {
      // A firewall between the manager and the cluster is no reason to give the cluster up.
      if (before === undefined || before.status === 'Unknown')
        return unknown('NotReachedYet', `was never reached from here: ${look.why}`)
      if (before.status === 'False' && failures < FAILURES_UNTIL_UNREACHABLE) return before
      const isForLong = before.reason === UNREACHABLE_FOR_LONG || ms >= LONG_MS
      const reason = isForLong ? UNREACHABLE_FOR_LONG : 'ErrorConnectingToCluster'
      return { status: 'True', reason, message: look.why }
    }
  }
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
  if (adminKubeconfigName(cluster) === undefined) return input(finding?.unreachable ?? missingKubeconfig(cluster))
  if (!isRunning(cluster, power)) return input(unknown('NotRunning', 'is not looked at while the cluster does not run'))
  if (finding !== undefined) return input(finding.unreachable)
  const before = findCondition(cluster.status?.conditions, UNREACHABLE)
  const isKnown = before !== undefined && before.status !== 'Unknown'
  return isKnown ? [] : input(unknown('NotReachedYet', 'about to be looked at'))
}
