/** What is to be done about a ClusterDeployment, and how it stands. Pure: what was read and the time go in. */
import { type ClusterDeployment, QUOTA_EXCEEDED } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { FAILING, LEFT_BEHIND } from './conditions.ts'
import type { Decision, KstatusSummary, Observed, Step } from './decision.ts'
import { adapterProblems, attemptsLimit, countAttempts, describeLimit } from './install-attempts.ts'
import { REGISTRATION } from './labels.ts'
import { type CurrentPower, hibernateTime, powerStateOf } from './power.ts'
import { desiredLabels, desiredSpec, recordName } from './record/desired-record.ts'
import { foreignKubernetes, isOriginTrue, type KubernetesUids, withoutOrigin } from './record/origin.ts'
import { type ClusterRecord, currentCondition, digestOf, isReady, type Owner, ownerOf } from './record/record.ts'

const reconciling = (reason: string, message: string): KstatusSummary => ({ type: 'Reconciling', reason, message })
const stalled = (reason: string, message: string): KstatusSummary => ({ type: 'Stalled', reason, message })

/** @param observed the oldest record counts */
export const decide = (observed: Observed, now: Date): Decision => {
  const { gone, loss } = observed
  return { ...decideStep(observed, now), gone: loss?.gone ?? gone }
}

const decideStep = (observed: Observed, now: Date): Decision => {
  const [record] = observed.records
  const { deployment, kubernetes } = observed
  const stranger = observed.records.find((one) => !isRecordOf(ownerOf(deployment), one, kubernetes))
  if (stranger !== undefined) return decideCopied(deployment, stranger, kubernetes)
  if (record === undefined) return decideUnregistered(observed, now)
  if (record.deleting) return decideDeletedElsewhere(deployment, record)
  return decideRegistered(observed, record, now)
}

/** Was the record made for this ClusterDeployment? One without an owner was: it had our registration once. */
export const isRecordOf = (object: Owner, record: ClusterRecord, kubernetes: KubernetesUids): boolean =>
  foreignKubernetes(record.labels, kubernetes) === undefined && isNamedBy(object, record)

/** Was it made for a ClusterDeployment of this name, in whichever Kubernetes cluster? */
export const isNamedBy = ({ namespace, name }: Owner, { owner }: ClusterRecord): boolean =>
  owner === undefined || (owner.name === name && owner.namespace === namespace)

/** The id of its registration, once it is written down. */
export const registrationOf = ({ metadata }: ClusterDeployment): string | undefined =>
  metadata.annotations?.[REGISTRATION] || undefined

/** The id by which it is registered, or will be: its own uid until another one is written down. */
export const expectedRegistration = (deployment: ClusterDeployment): string =>
  registrationOf(deployment) ?? deployment.metadata.uid

const unchanged = ({ spec, status }: ClusterDeployment): Omit<Decision, 'step' | 'kstatus'> => ({
  record: undefined,
  installed: spec.installed,
  power: status?.powerState as CurrentPower | undefined,
  failed: status?.installAttempts ?? 0,
  failing: undefined,
  quota: undefined,
  stopped: undefined,
  hibernatesAt: undefined,
  recheckAt: undefined,
})

const NOTHING = { do: 'Nothing' } as const

const decideCopied = (
  deployment: ClusterDeployment,
  { owner, id, labels }: ClusterRecord,
  kubernetes: KubernetesUids,
): Decision => {
  const other = foreignKubernetes(labels, kubernetes)
  const message =
    other === undefined
      ? `the annotation ${REGISTRATION} is that of ClusterDeployment ${owner?.namespace}/${owner?.name} (cluster ${id}): remove it here to get a cluster of its own`
      : `cluster ${id} was registered by another Kubernetes cluster (${other}): remove the annotation ${REGISTRATION} here to get a cluster of its own, or have the manager take it over with --former-kubernetes-uids when this one was restored from that`
  return { ...unchanged(deployment), step: NOTHING, kstatus: stalled('RegistrationConflict', message) }
}

const LOST_GRACE =
  'the HyperFleet API has lost its cluster: adapters have a while to take away what they applied for it, then it is registered again'

/** It was registered in an earlier life: a backup has no status, and an object that is made again has another uid (CLUSTER-11). */
const isRestored = (deployment: ClusterDeployment): boolean =>
  expectedRegistration(deployment) !== deployment.metadata.uid

const decideUnregistered = (
  { deployment, loss, readLeaseProblem, otherUser, installConfigProblem }: Observed,
  now: Date,
): Decision => {
  const { spec, status, metadata } = deployment
  const was = unchanged(deployment)
  const registration = registrationOf(deployment)
  if (spec.installed && (status?.hyperfleet !== undefined || isRestored(deployment))) {
    const id = status?.hyperfleet?.id ?? `of registration ${registration}`
    const message = `the HyperFleet API has cluster ${id} no more: it was deleted there. Delete this ClusterDeployment too, and make another one for a new cluster`
    return {
      ...was,
      power: undefined,
      step: NOTHING,
      kstatus: stalled('RecordGone', message),
      stopped: { reason: 'RecordGone', message },
    }
  }
  if (was.failed >= (attemptsLimit(deployment) ?? Number.POSITIVE_INFINITY))
    return { ...was, step: NOTHING, ...attemptsExhausted(deployment, was.failed, undefined) }
  if (readLeaseProblem !== undefined)
    return {
      ...was,
      step: NOTHING,
      kstatus: reconciling('WaitingForLease', `${readLeaseProblem}; registered when it is its own`),
    }
  if (otherUser !== undefined) return { ...was, step: NOTHING, kstatus: describeOtherUser(deployment, otherUser) }
  if (loss !== undefined && loss.until > now.getTime())
    return { ...was, step: NOTHING, kstatus: reconciling('Registering', LOST_GRACE), recheckAt: loss.until }
  if (loss?.leftBehind !== undefined)
    return { ...was, step: NOTHING, kstatus: stalled(LEFT_BEHIND, loss.leftBehind), leftBehind: loss.leftBehind }
  if (installConfigProblem !== undefined)
    return { ...was, step: NOTHING, kstatus: reconciling('WaitingForInstallConfig', installConfigProblem) }
  if (registration === undefined)
    return {
      ...was,
      step: { do: 'Mark', registration: metadata.uid },
      kstatus: reconciling('Registering', 'about to be registered with the HyperFleet API'),
    }
  const lost = status?.hyperfleet === undefined ? '' : `; cluster ${status.hyperfleet.id} was deleted there`
  return {
    ...was,
    step: { do: 'Register', registration, name: recordName(metadata.name, registration), attempt: was.failed + 1 },
    kstatus: reconciling('Registering', `is being registered with the HyperFleet API${lost}`),
  }
}

/** The lease says that the customization is its own, and machines with the names of the other cluster may still be there. */
const describeOtherUser = ({ spec }: ClusterDeployment, { id, owner, deleting }: ClusterRecord): KstatusSummary => {
  const name = spec.clusterPoolRef?.clusterDeploymentCustomization?.name
  const remedy = deleting
    ? 'it is being deleted there'
    : 'delete it there, or bring its ClusterDeployment back from a backup'
  const message = `cluster ${id} of the HyperFleet API, of ClusterDeployment ${owner?.namespace}/${owner?.name}, has the customization ${name}: ${remedy}; this one is registered when it is gone`
  return deleting ? reconciling('CustomizationInUse', message) : stalled('CustomizationInUse', message)
}

const decideDeletedElsewhere = (deployment: ClusterDeployment, record: ClusterRecord): Decision => {
  const then = deployment.spec.installed ? 'nothing is made in its place' : 'it is registered again when that is done'
  const progress = currentCondition(record, 'Ready')?.message ?? ''
  return {
    ...unchanged(deployment),
    record,
    step: NOTHING,
    kstatus: reconciling(
      'DeletedElsewhere',
      `cluster ${record.id} is being deleted in the HyperFleet API; ${then}. ${progress}`.trimEnd(),
    ),
  }
}

const decideRegistered = (
  { deployment, records, kubernetes, installConfigProblem }: Observed,
  record: ClusterRecord,
  now: Date,
): Decision => {
  const { spec, status } = deployment
  const before = findCondition(status?.conditions, FAILING)
  const attempts = countAttempts(
    {
      record,
      installed: spec.installed,
      failed: status?.installAttempts ?? 0,
      limit: attemptsLimit(deployment),
      failingSince: before?.status === 'True' ? Date.parse(before.lastTransitionTime) : undefined,
    },
    now,
  )
  const isThere = isReady(record)
  const installed = spec.installed || isThere
  const asleepAt = hibernateTime(deployment)
  const isOver = asleepAt !== undefined && asleepAt <= now.getTime()
  const next = nextStep({ deployment, records, kubernetes }, record, attempts)
  const step = next.do === 'Nothing' && isOver ? hibernateStep(deployment) : next
  const inStep = step.do === 'Nothing' && spec.installed === installed
  const power = spec.installed ? powerStateOf(spec.powerState, status?.powerState, isThere && inStep) : undefined
  const common: Omit<Decision, 'kstatus'> = {
    step: step.do === 'Change' && step.anew && installConfigProblem !== undefined ? NOTHING : step,
    record,
    installed,
    power: installed && power === undefined ? 'Running' : power,
    failed: attempts.failed,
    failing: attempts.failing,
    quota: attempts.quota,
    stopped: undefined,
    hibernatesAt: asleepAt,
    // Installations fail, and only what is installed is put to sleep.
    recheckAt: attempts.failsAt ?? asleepAt,
  }
  if (attempts.isStopped) return { ...common, ...attemptsExhausted(deployment, attempts.failed, attempts.failing) }
  if (step !== common.step)
    return { ...common, kstatus: reconciling('WaitingForInstallConfig', installConfigProblem ?? '') }
  return { ...common, kstatus: summarize(common, deployment, record, inStep && isThere) }
}

const nextStep = (
  { deployment, records, kubernetes }: Observed,
  record: ClusterRecord,
  attempts: { readonly failed: number; readonly desired: number },
): Step => {
  const second = records.find((one) => one !== record && !one.deleting)
  if (second !== undefined) return { do: 'Withdraw', record: second }
  // A failure is written down before the next attempt begins.
  if (attempts.failed > (deployment.status?.installAttempts ?? 0)) return NOTHING
  const registration = registrationOf(deployment) ?? record.registration ?? expectedRegistration(deployment)
  const labels = desiredLabels(deployment, registration)
  const attempt = attempts.desired
  const isSame =
    digestOf(desiredSpec(deployment, attempt)) === record.specDigest &&
    digestOf(withoutOrigin(labels)) === digestOf(withoutOrigin(record.labels)) &&
    isOriginTrue(deployment, record.labels, kubernetes)
  return isSame ? NOTHING : { do: 'Change', record, labels, attempt, anew: attempt > record.attempt }
}

const hibernateStep = ({ spec }: ClusterDeployment): Step => ({
  do: 'Hibernate',
  why: `it has run for ${spec.hibernateAfter} (hibernateAfter), and is put to sleep; set powerState to Running to wake it`,
})

const summarize = (
  { step, installed, failing, quota, power, recheckAt }: Omit<Decision, 'kstatus'>,
  { spec }: ClusterDeployment,
  record: ClusterRecord,
  isDone: boolean,
): KstatusSummary => {
  if (isDone)
    return {
      type: 'Ready',
      reason: 'Provisioned',
      message: `as wanted; ${power?.toLowerCase()}; cluster ${record.id}`,
    }
  if (step.do === 'Hibernate') return reconciling('Stopping', step.why)
  const progress = currentCondition(record, 'Ready')?.message ?? 'the HyperFleet API has not looked at it yet'
  if (failing !== undefined) {
    const when = recheckAt === undefined ? '' : `; counts as failed at ${new Date(recheckAt).toISOString()}`
    return reconciling('ProvisionFailing', `attempt ${record.attempt}: ${failing}${when}`)
  }
  if (quota !== undefined) return reconciling(QUOTA_EXCEEDED, `${quota}; tried again`)
  if (!installed) return reconciling('Provisioning', progress)
  if (!spec.installed) return reconciling('Installed', 'installed just now')
  const reason = power === 'Resuming' || power === 'Stopping' ? power : 'Updating'
  return reconciling(reason, adapterProblems(record) ?? progress)
}

const attemptsExhausted = (
  deployment: ClusterDeployment,
  failed: number,
  failing: string | undefined,
): Pick<Decision, 'kstatus' | 'stopped'> => {
  const stopped = describeLimit(deployment, failed, failing)
  return { kstatus: stalled(stopped.reason, stopped.message), stopped }
}
