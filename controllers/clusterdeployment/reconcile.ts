/** One pass over a ClusterDeployment: what the caches say is enough while nothing is to be done; what is done rests on fresh reads. */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { Context, MayWait } from '#operator/engine/context.ts'
import { countConflict, forgetConflicts } from '#operator/model/conflict-retry.ts'
import { TemporaryError } from '#operator/model/errors.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { decide, registrationOf } from './decide.ts'
import type { Decision } from './decision.ts'
import { buildEvents } from './events.ts'
import { execute } from './execute.ts'
import { isGoneKnown } from './gone-clusters.ts'
import { hibernate } from './hibernate.ts'
import { nextInstallWatch, WATCH_INTERVAL_MS } from './install-watch.ts'
import type { DeletedDeployments } from './late-registrations.ts'
import { recordRegistration } from './lease.ts'
import { LEFT_BEHIND_RECHECK_INTERVAL, type LostClusters } from './lost-clusters.ts'
import type { Metrics } from './metrics.ts'
import { type FreshObservation, observe } from './observe.ts'
import type { Findings } from './reachability/findings.ts'
import type { KubernetesIdentity } from './record/origin.ts'
import { ownerOf } from './record/record.ts'
import type { RecordCache } from './record/record-cache.ts'
import { buildStatus, buildSummaryStatus } from './status.ts'

export interface ReconcileDeps {
  readonly hyperfleet: HyperFleetClient
  readonly records: RecordCache
  readonly kubernetes: KubernetesIdentity
  readonly deleted: DeletedDeployments
  readonly lost: LostClusters
  readonly metrics: Metrics
  readonly findings: Findings
}

/** How often an install-config is looked for that is not there: Secrets are not watched. */
const SECRET_RECHECK_INTERVAL = '5s'
/** How often is looked whether another cluster with the customization is gone: its record wakes another ClusterDeployment. */
const OTHER_USER_RECHECK_INTERVAL = '30s'

export const reconcile =
  (deps: ReconcileDeps) =>
  async (context: Context<ClusterDeployment>): Promise<MayWait> => {
    const { records, deleted, kubernetes, findings } = deps
    const { object, patch, clock } = context
    deleted.forget(object)
    if (records.outage !== undefined) {
      // The stream wakes it as soon as it shows what is true.
      records.addWaiting(ownerOf(object))
      const message = `${records.outage}; all goes on when it answers`
      const written = { type: 'Reconciling', reason: 'APIUnreachable', message } as const
      patch.status(buildSummaryStatus(object, written, clock.now(), findings.of(object)))
      return
    }
    try {
      const registration = registrationOf(object)
      const known = registration === undefined ? [] : records.of(registration)
      const first = decide(
        { deployment: object, records: known, kubernetes: await kubernetes.read(context.api) },
        clock.now(),
      )
      const isEnough = known.length > 0 && first.step.do === 'Nothing' && isGoneKnown(object, known)
      return isEnough ? report(deps, context, { object, decision: first }) : await observeAndAct(deps, context)
    } catch (error) {
      throw reportApiFailure(deps, error, context)
    }
  }

/** Looks at everything anew, and does what is to be done. */
const observeAndAct = async (deps: ReconcileDeps, context: Context<ClusterDeployment>): Promise<MayWait> => {
  const { object, clock } = context
  const { api, signal } = context
  const { hyperfleet, kubernetes, lost } = deps
  const observed = await observe(object, { api, hyperfleet, kubernetes, lost, now: clock.now(), signal })
  if (observed === undefined) return
  const next = decide(observed, clock.now())
  if (next.step.do === 'Hibernate' && !(await hibernate(context, observed.deployment, next.step.why))) return
  // The customization was written while its lease was looked at.
  if (next.step.do === 'Register' && !(await mayRegister(context, observed)))
    return { requeueAfter: countConflict(context.memo) }
  forgetConflicts(context.memo)
  const record = await execute(deps, context, observed, next.step)
  const done = { ...next, record: record ?? next.record }
  return report(deps, context, { object: observed.deployment, decision: done })
}

const mayRegister = async (
  { api }: Pick<Context<ClusterDeployment>, 'api'>,
  { deployment, customization }: FreshObservation,
): Promise<boolean> => customization === undefined || (await recordRegistration(api, deployment, customization))

/** Says what was decided: in the status, on the object, and to people. */
const report = (
  { metrics, findings }: ReconcileDeps,
  { patch, clock, events }: Context<ClusterDeployment>,
  { object, decision }: { readonly object: ClusterDeployment; readonly decision: Decision },
): MayWait => {
  const now = clock.now()
  for (const { type, reason, message } of buildEvents(object, decision)) events[type](reason, message)
  patch.status(buildStatus(object, decision, now, findings.of(object)))
  if (decision.installed && !object.spec.installed) {
    patch.merge({ spec: { installed: true } })
    metrics.installed(object, now)
  }
  if (decision.failed > (object.status?.installAttempts ?? 0)) metrics.attemptFailed()
  if (decision.kstatus.reason === 'CustomizationInUse') return { requeueAfter: OTHER_USER_RECHECK_INTERVAL }
  if (decision.leftBehind !== undefined) return { requeueAfter: LEFT_BEHIND_RECHECK_INTERVAL }
  if (decision.kstatus.reason === 'WaitingForInstallConfig') return { requeueAfter: SECRET_RECHECK_INTERVAL }
  const times = [decision.recheckAt, nextWatchWrite(object, decision, now)].filter((time) => time !== undefined)
  if (times.length > 0) return { requeueAfter: Math.max(1, Math.min(...times) - now.getTime()) }
}

/** When it is written again how long the installation was watched; milliseconds since the epoch. */
const nextWatchWrite = (
  object: ClusterDeployment,
  { installed, stopped, quota }: Decision,
  now: Date,
): number | undefined => {
  const watch = installed || stopped !== undefined || quota !== undefined ? undefined : nextInstallWatch(object, now)
  return watch && Date.parse(watch.until) + WATCH_INTERVAL_MS
}

/** Writes down what the API says against it. @returns what makes the runtime try again: later and later, or when the API wants */
const reportApiFailure = (
  { findings }: ReconcileDeps,
  error: unknown,
  { object, patch, clock }: Context<ClusterDeployment>,
): unknown => {
  if (!(error instanceof HyperFleetError)) return error
  const { reason, message, retryAfter } = error
  const type = reason === 'APIUnreachable' ? 'Reconciling' : 'Stalled'
  const written = { type, reason, message: `${message}; tried again` } as const
  patch.status(buildSummaryStatus(object, written, clock.now(), findings.of(object)))
  return new TemporaryError(message, { cause: error, ...(retryAfter !== undefined && { delay: retryAfter }) })
}
