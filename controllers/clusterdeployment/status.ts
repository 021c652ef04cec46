/** A decision as the status of its ClusterDeployment. Pure. */
import {
  API_REACHABLE,
  type ClusterDeployment,
  type ClusterDeploymentStatus,
} from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import {
  type Condition,
  type ConditionInput,
  findCondition,
  kstatusConditions,
  withConditions,
} from '#operator/model/conditions.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import { AVAILABLE, FAILING, HIBERNATING, LEFT_BEHIND, PROVISIONED, STOPPED } from './conditions.ts'
import type { Decision } from './decision.ts'
import { keptGone } from './gone-clusters.ts'
import { formatSeconds, nextInstallWatch } from './install-watch.ts'
import { nextReachability, unreachableConditions } from './reachability/condition.ts'
import type { Finding } from './reachability/findings.ts'
import { ADAPTER_SUFFIX, type ClusterRecord } from './record/record.ts'

/** A merge patch of the status; null removes. @param finding what is known of the cluster's API server */
export const buildStatus = (
  deployment: ClusterDeployment,
  decision: Decision,
  now: Date,
  finding?: Finding,
): DeepPartial<ClusterDeploymentStatus> => {
  const { metadata, spec, status } = deployment
  const { record, installed, power, failed, gone } = decision
  const claims = [
    ...buildConditions(decision, metadata.generation),
    ...leftBehindCondition(decision, status?.conditions),
    ...reachableAgain(status?.conditions),
    ...unreachableConditions(deployment, decision, finding),
  ]
  return {
    observedGeneration: metadata.generation ?? null,
    conditions: mergeConditions(status?.conditions, claims, record, now),
    installAttempts: failed,
    powerState: power ?? null,
    ...(finding?.apiURL !== undefined && { apiURL: finding.apiURL }),
    reachability: nextReachability(deployment, decision, finding) ?? null,
    installWatch: nextInstallWatch({ spec: { ...spec, installed }, status }, now, decision.quota !== undefined) ?? null,
    ...(installed && status?.installedTimestamp === undefined && { installedTimestamp: formatSeconds(now) }),
    ...(gone !== undefined && { goneClusters: keptGone(gone, record?.id ?? status?.hyperfleet?.id) }),
    ...(record !== undefined && {
      hyperfleet: { id: record.id, href: record.href, generation: record.generation },
    }),
  }
}

/** A status that only says how it stands: what else was known stays. @param more other conditions */
export const buildSummaryStatus = (
  deployment: ClusterDeployment,
  written: Decision['kstatus'],
  now: Date,
  finding?: Finding,
  more: readonly ConditionInput[] = [],
): DeepPartial<ClusterDeploymentStatus> => {
  const { metadata, spec, status } = deployment
  const state = { installed: spec.installed && metadata.deletionTimestamp === undefined, power: status?.powerState }
  const isOutage = written.reason === 'APIUnreachable'
  const claims = [
    ...kstatusConditions({ ...written, observedGeneration: metadata.generation }),
    ...(isOutage ? [reachability('False', written.reason, written.message)] : []),
    ...unreachableConditions(deployment, state, finding),
    ...more,
  ]
  return {
    ...(finding?.apiURL !== undefined && { apiURL: finding.apiURL }),
    reachability: nextReachability(deployment, state, finding) ?? null,
    // Of an installation that nothing is told of nothing is watched.
    ...(!isOutage && { installWatch: nextInstallWatch({ spec, status }, now) ?? null }),
    observedGeneration: metadata.generation ?? null,
    conditions: withConditions(status?.conditions, claims, now) as ClusterDeploymentStatus['conditions'] & {},
  }
}

const reachability = (status: 'True' | 'False', reason: string, message: string): ConditionInput => ({
  type: API_REACHABLE,
  status,
  reason,
  message,
})

/** Since when it answers again; without an outage there is no such condition. */
const reachableAgain = (before: readonly Condition[] | undefined): readonly ConditionInput[] =>
  findCondition(before, API_REACHABLE) === undefined
    ? []
    : [reachability('True', 'APIReachable', 'the HyperFleet API answers')]

/** Once nothing is left any more it says so; without such a loss there is no such condition. */
const leftBehindCondition = (
  { leftBehind }: Decision,
  before: readonly Condition[] | undefined,
): readonly ConditionInput[] => {
  if (leftBehind !== undefined) return [leftBehindInput(leftBehind)]
  if (findCondition(before, LEFT_BEHIND) === undefined) return []
  return [{ type: LEFT_BEHIND, status: 'False', reason: 'NothingLeft', message: '' }]
}

export const leftBehindInput = (message: string): ConditionInput => ({
  type: LEFT_BEHIND,
  status: 'True',
  reason: 'ObjectsMayBeLeft',
  message,
})

const buildConditions = (decision: Decision, observedGeneration: number | undefined): readonly ConditionInput[] => {
  const { kstatus: reported, installed, failing, stopped, power, hibernatesAt, record } = decision
  const say = (type: string, status: ConditionInput['status'], reason: string, message: string): ConditionInput => ({
    type,
    status,
    reason,
    message,
    ...(observedGeneration !== undefined && { observedGeneration }),
  })
  return [
    ...kstatusConditions({ ...reported, observedGeneration }),
    installed
      ? say(PROVISIONED, 'True', 'Provisioned', 'the cluster was installed')
      : say(PROVISIONED, 'False', stopped?.reason ?? reported.reason, stopped?.message ?? reported.message),
    stopped === undefined
      ? say(STOPPED, 'False', 'NotStopped', '')
      : say(STOPPED, 'True', stopped.reason, stopped.message),
    failing === undefined
      ? say(FAILING, 'False', 'NotFailing', '')
      : say(FAILING, 'True', 'AdapterReportedFailure', `attempt ${record?.attempt}: ${failing}`),
    ...(power === undefined ? [] : [hibernatingCondition(power, hibernatesAt, say)]),
    ...mirroredConditions(record),
  ]
}

/** Hive's reasons: since when it resumes is since when this is False. */
const hibernatingCondition = (
  power: string,
  sleepsAt: number | undefined,
  say: (type: string, status: 'True' | 'False', reason: string, message: string) => ConditionInput,
): ConditionInput => {
  const until = sleepsAt === undefined ? '' : `; put to sleep at ${formatSeconds(new Date(sleepsAt))} (hibernateAfter)`
  if (power === 'Running' || power === 'Resuming')
    return say(HIBERNATING, 'False', 'ResumingOrRunning', power === 'Running' ? `it runs${until}` : 'it wakes up')
  return say(HIBERNATING, 'True', 'HibernatingOrStopping', power === 'Hibernating' ? 'it sleeps' : 'it falls asleep')
}

/** What the API and its adapters say, in their words, about the generation of the record. */
const mirroredConditions = (record: ClusterRecord | undefined): readonly ConditionInput[] =>
  (record?.conditions ?? [])
    .filter(({ type }) => isMirrored(type))
    .map(({ type, status, reason, message }) => ({ type, status, reason: reason || 'Reported', message }))

const isMirrored = (type: string): boolean => type === AVAILABLE || type.endsWith(ADAPTER_SUFFIX)

const mergeConditions = (
  before: readonly Condition[] | undefined,
  claims: readonly ConditionInput[],
  record: ClusterRecord | undefined,
  now: Date,
): ClusterDeploymentStatus['conditions'] & {} => {
  const reported = new Set(claims.map(({ type }) => type))
  // An adapter that is required no more says nothing any more.
  const kept = before?.filter(({ type }) => record === undefined || reported.has(type) || !isMirrored(type))
  return withConditions(kept, claims, now) as ClusterDeploymentStatus['conditions'] & {}
}
