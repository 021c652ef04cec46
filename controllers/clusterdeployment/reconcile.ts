/** One pass over a ClusterDeployment: what the caches say is enough while nothing is to be done; what is done rests on fresh reads. */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { Context, MayWait } from '#operator/engine/context.ts'
import { TemporaryError } from '#operator/model/errors.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { type Decision, decide, registrationOf, type Step } from './decide.ts'
import { buildEvents } from './events.ts'
import { hibernate } from './hibernate.ts'
import { REGISTRATION } from './labels.ts'
import type { Metrics } from './metrics.ts'
import { type FreshObservation, observe, readRecords } from './observe.ts'
import { desiredLabels, desiredSpec, fallbackName, withInstallConfig } from './record/desired-record.ts'
import { type ClusterRecord, ownerOf, recordOf } from './record/record.ts'
import type { RecordCache } from './record/record-cache.ts'
import { buildStatus, buildSummaryStatus } from './status.ts'

export interface ReconcileDeps {
  readonly hyperfleet: HyperFleetClient
  readonly records: RecordCache
  readonly metrics: Metrics
}

/** How often an install-config is looked for that is not there: Secrets are not watched. */
const SECRET_RECHECK_INTERVAL = '5s'

export const reconcile =
  (deps: ReconcileDeps) =>
  async (context: Context<ClusterDeployment>): Promise<MayWait> => {
    const { records } = deps
    const { object, patch, clock } = context
    if (records.outage !== undefined) {
      // The stream wakes it as soon as it shows what is true.
      records.addWaiting(ownerOf(object))
      const message = `${records.outage}; all goes on when it answers`
      patch.status(buildSummaryStatus(object, { type: 'Reconciling', reason: 'APIUnreachable', message }, clock.now()))
      return
    }
    try {
      const registration = registrationOf(object)
      const known = registration === undefined ? [] : records.of(registration)
      const first = decide({ deployment: object, records: known }, clock.now())
      const isEnough = known.length > 0 && first.step.do === 'Nothing'
      return isEnough ? report(deps, context, { object, decision: first }) : await observeAndAct(deps, context)
    } catch (error) {
      throw reportApiFailure(error, context)
    }
  }

/** Looks at everything anew, and does what is to be done. */
const observeAndAct = async (deps: ReconcileDeps, context: Context<ClusterDeployment>): Promise<MayWait> => {
  const { object, clock } = context
  const observed = await observe(object, { api: context.api, hyperfleet: deps.hyperfleet, signal: context.signal })
  if (observed === undefined) return
  const next = decide(observed, clock.now())
  if (next.step.do === 'Hibernate' && !(await hibernate(context, observed.deployment, next.step.why))) return
  const record = await execute(deps, context, observed, next.step)
  const done = { ...next, record: record ?? next.record }
  return report(deps, context, { object: observed.deployment, decision: done })
}

/** Says what was decided: in the status, on the object, and to people. */
const report = (
  { metrics }: ReconcileDeps,
  { patch, clock, events }: Context<ClusterDeployment>,
  { object, decision }: { readonly object: ClusterDeployment; readonly decision: Decision },
): MayWait => {
  const now = clock.now()
  for (const { type, reason, message } of buildEvents(object, decision)) events[type](reason, message)
  patch.status(buildStatus(object, decision, now))
  if (decision.installed && !object.spec.installed) {
    patch.merge({ spec: { installed: true } })
    metrics.installed(object, now)
  }
  if (decision.failed > (object.status?.installAttempts ?? 0)) metrics.attemptFailed()
  if (decision.standing.reason === 'WaitingForInstallConfig') return { requeueAfter: SECRET_RECHECK_INTERVAL }
  if (decision.recheckAt !== undefined) return { requeueAfter: Math.max(1, decision.recheckAt - now.getTime()) }
}

/** @returns the record as it is then; undefined when nothing was written there */
const execute = async (
  { hyperfleet }: ReconcileDeps,
  { patch, signal, events }: Context<ClusterDeployment>,
  observed: FreshObservation,
  step: Step,
): Promise<ClusterRecord | undefined> => {
  const { deployment, installConfig } = observed
  switch (step.do) {
    case 'Nothing':
    // Written before: whether it could be decides about the rest.
    case 'Hibernate':
      return undefined
    case 'Mark':
      // It comes back by the watch, and only then the cluster is registered.
      patch.merge({ metadata: { annotations: { [REGISTRATION]: step.registration } } })
      return undefined
    case 'Register': {
      const draft = {
        labels: desiredLabels(deployment, step.registration),
        spec: withInstallConfig(desiredSpec(deployment, step.attempt), installConfig),
      }
      const create = async (name: string) => recordOf(await hyperfleet.create('clusters', { name, ...draft }, signal))
      try {
        return await create(step.name)
      } catch (error) {
        if (!isConflict(error)) throw error
        // Another manager, or an answer that was lost, may have made it.
        const [made] = await readRecords(deployment, { hyperfleet, signal })
        if (made !== undefined) return made
        const name = fallbackName(deployment.metadata.name, step.registration)
        events.warning(
          'NameTaken',
          `another cluster of the HyperFleet API is called ${step.name}: registered as ${name}`,
        )
        return create(name)
      }
    }
    case 'Change': {
      const config = step.anew ? withInstallConfig({}, installConfig).installConfig : step.record.installConfig
      const spec = desiredSpec(deployment, step.attempt)
      const change = { labels: step.labels, spec: config === undefined ? spec : { ...spec, installConfig: config } }
      return recordOf(await hyperfleet.patch('clusters', step.record.id, change, signal))
    }
    case 'Withdraw':
      await hyperfleet.remove('clusters', step.record.id, signal)
      return undefined
  }
}

const isConflict = (error: unknown): boolean => error instanceof HyperFleetError && error.status === 409

/** Writes down what the API says against it. @returns what makes the runtime try again: later and later, or when the API wants */
const reportApiFailure = (error: unknown, { object, patch, clock }: Context<ClusterDeployment>): unknown => {
  if (!(error instanceof HyperFleetError)) return error
  const { reason, message, retryAfter } = error
  const type = reason === 'APIUnreachable' ? 'Reconciling' : 'Stalled'
  const written = { type, reason, message: `${message}; tried again` } as const
  patch.status(buildSummaryStatus(object, written, clock.now()))
  return new TemporaryError(message, { cause: error, ...(retryAfter !== undefined && { delay: retryAfter }) })
}
