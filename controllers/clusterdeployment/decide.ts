/** What is to be done about a ClusterDeployment, and how it stands. Pure: what was read and the time go in. */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { findCondition, type KstatusInput } from '#operator/model/conditions.ts'
import { FAILING } from './conditions.ts'
import { attemptsOf } from './install-attempts.ts'
import { REGISTRATION } from './labels.ts'
import { type PowerNow, powerOf, sleepsAt } from './power.ts'
import { recordName, wantedLabels, wantedSpec } from './record/desired-record.ts'
import { type ClusterRecord, currentCondition, digestOf, isReady } from './record/record.ts'

/** What was read; from caches first, and again from the API servers when something is to be done. */
export interface Observed {
  readonly deployment: ClusterDeployment
  /** Records with its registration, and the one that its status names; the oldest first. */
  readonly records: readonly ClusterRecord[]
  /** Why the cluster must not be made with its customization; undefined when it may, or nobody has looked. */
  readonly notLeased?: string | undefined
  /** Why the install-config can't be read; undefined when it can, or nobody has looked. */
  readonly noInstallConfig?: string | undefined
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
  readonly standing: Omit<KstatusInput, 'observedGeneration'>
  /** The cluster; undefined while it is not registered. */
  readonly record: ClusterRecord | undefined
  readonly installed: boolean
  /** undefined before the installation. */
  readonly power: PowerNow | undefined
  /** How many attempts at the installation have failed, and what is wrong with the present one. */
  readonly failed: number
  readonly failing: string | undefined
  /** Why there will be no cluster. */
  readonly stopped: { readonly reason: string; readonly message: string } | undefined
  /** When it has run for long enough, in milliseconds since the epoch; undefined when it need not be put to sleep. */
  readonly sleepsAt: number | undefined
  /** When time alone changes the decision, in milliseconds since the epoch. */
  readonly lookAgainAt: number | undefined
}

type Said = Decision['standing']

const reconciling = (reason: string, message: string): Said => ({ type: 'Reconciling', reason, message })
const stalled = (reason: string, message: string): Said => ({ type: 'Stalled', reason, message })

/** @param observed the oldest record counts */
export const decide = (observed: Observed, now: Date): Decision => {
  const [record] = observed.records
  const stranger = observed.records.find((one) => !isOf(observed.deployment, one))
  if (stranger !== undefined) return copied(observed.deployment, stranger)
  if (record === undefined) return unregistered(observed)
  if (record.deleting) return deletedElsewhere(observed.deployment, record)
  return registered(observed, record, now)
}

/** Was the record made for this ClusterDeployment? One without an owner was: it had our registration once. */
export const isOf = ({ metadata }: ClusterDeployment, { owner }: ClusterRecord): boolean =>
  owner === undefined || (owner.name === metadata.name && owner.namespace === metadata.namespace)

/** The id of its registration, once it is written down. */
export const registrationOf = ({ metadata }: ClusterDeployment): string | undefined =>
  metadata.annotations?.[REGISTRATION] || undefined

const asItWas = ({ spec, status }: ClusterDeployment): Omit<Decision, 'step' | 'standing'> => ({
  record: undefined,
  installed: spec.installed,
  power: status?.powerState as PowerNow | undefined,
  failed: status?.installAttempts ?? 0,
  failing: undefined,
  stopped: undefined,
  sleepsAt: undefined,
  lookAgainAt: undefined,
})

const NOTHING = { do: 'Nothing' } as const

const copied = (deployment: ClusterDeployment, { owner, id }: ClusterRecord): Decision => ({
  ...asItWas(deployment),
  step: NOTHING,
  standing: stalled(
    'RegistrationConflict',
    `the annotation ${REGISTRATION} is that of ClusterDeployment ${owner?.namespace}/${owner?.name} (cluster ${id}): remove it here to get a cluster of its own`,
  ),
})

const unregistered = ({ deployment, notLeased, noInstallConfig }: Observed): Decision => {
  const { spec, status, metadata } = deployment
  const was = asItWas(deployment)
  const registration = registrationOf(deployment)
  if (spec.installed && status?.hyperfleet !== undefined) {
    const message = `the HyperFleet API has cluster ${status.hyperfleet.id} no more: somebody deleted it there. Delete this ClusterDeployment too, and make another one for a new cluster`
    return {
      ...was,
      power: undefined,
      step: NOTHING,
      standing: stalled('RecordGone', message),
      stopped: { reason: 'RecordGone', message },
    }
  }
  const { installAttemptsLimit: limit } = spec
  if (limit !== undefined && was.failed >= limit)
    return { ...was, step: NOTHING, ...givenUp(was.failed, limit, undefined) }
  if (notLeased !== undefined)
    return {
      ...was,
      step: NOTHING,
      standing: reconciling('WaitingForLease', `${notLeased}; registered when it is its own`),
    }
  if (noInstallConfig !== undefined)
    return { ...was, step: NOTHING, standing: reconciling('WaitingForInstallConfig', noInstallConfig) }
  if (registration === undefined)
    return {
      ...was,
      step: { do: 'Mark', registration: metadata.uid },
      standing: reconciling('Registering', 'about to be registered with the HyperFleet API'),
    }
  const lost = status?.hyperfleet === undefined ? '' : `; cluster ${status.hyperfleet.id} was deleted there`
  return {
    ...was,
    step: { do: 'Register', registration, name: recordName(metadata.name, registration), attempt: was.failed + 1 },
    standing: reconciling('Registering', `is being registered with the HyperFleet API${lost}`),
  }
}

const deletedElsewhere = (deployment: ClusterDeployment, record: ClusterRecord): Decision => {
  const then = deployment.spec.installed ? 'nothing is made in its place' : 'it is registered again when that is done'
  const progress = currentCondition(record, 'Ready')?.message ?? ''
  return {
    ...asItWas(deployment),
    record,
    step: NOTHING,
    standing: reconciling(
      'DeletedElsewhere',
      `somebody deletes cluster ${record.id} in the HyperFleet API; ${then}. ${progress}`.trimEnd(),
    ),
  }
}

const registered = ({ deployment, records, noInstallConfig }: Observed, record: ClusterRecord, now: Date): Decision => {
  const { spec, status } = deployment
  const { installAttemptsLimit: limit } = spec
  const before = findCondition(status?.conditions, FAILING)
  const attempts = attemptsOf(
    {
      record,
      installed: spec.installed,
      failed: status?.installAttempts ?? 0,
      limit,
      failingSince: before?.status === 'True' ? Date.parse(before.lastTransitionTime) : undefined,
    },
    now,
  )
  const isThere = isReady(record)
  const installed = spec.installed || isThere
  const asleepAt = sleepsAt(deployment)
  const isOver = asleepAt !== undefined && asleepAt <= now.getTime()
  const next = nextStep(deployment, records, record, attempts)
  const step = next.do === 'Nothing' && isOver ? hibernate(deployment) : next
  const inStep = step.do === 'Nothing' && spec.installed === installed
  const power = spec.installed ? powerOf(spec.powerState, status?.powerState, isThere && inStep) : undefined
  const common: Omit<Decision, 'standing'> = {
    step: step.do === 'Change' && step.anew && noInstallConfig !== undefined ? NOTHING : step,
    record,
    installed,
    power: installed && power === undefined ? 'Running' : power,
    failed: attempts.failed,
    failing: attempts.failing,
    stopped: undefined,
    sleepsAt: asleepAt,
    // Installations fail, and only what is installed is put to sleep.
    lookAgainAt: attempts.failsAt ?? asleepAt,
  }
  if (attempts.isStopped) return { ...common, ...givenUp(attempts.failed, limit ?? 0, attempts.failing) }
  if (step !== common.step)
    return { ...common, standing: reconciling('WaitingForInstallConfig', noInstallConfig ?? '') }
  return { ...common, standing: standingOf(common, deployment, record, inStep && isThere) }
}

const nextStep = (
  deployment: ClusterDeployment,
  records: readonly ClusterRecord[],
  record: ClusterRecord,
  attempts: { readonly failed: number; readonly wanted: number },
): Step => {
  const second = records.find((one) => one !== record && !one.deleting)
  if (second !== undefined) return { do: 'Withdraw', record: second }
  // A failure is written down before the next attempt begins.
  if (attempts.failed > (deployment.status?.installAttempts ?? 0)) return NOTHING
  const registration = registrationOf(deployment) ?? record.registration ?? deployment.metadata.uid
  const labels = wantedLabels(deployment, registration)
  const attempt = attempts.wanted
  const isSame =
    digestOf(wantedSpec(deployment, attempt)) === record.specDigest && digestOf(labels) === digestOf(record.labels)
  return isSame ? NOTHING : { do: 'Change', record, labels, attempt, anew: attempt > record.attempt }
}

const hibernate = ({ spec }: ClusterDeployment): Step => ({
  do: 'Hibernate',
  why: `it has run for ${spec.hibernateAfter} (hibernateAfter), and is put to sleep; set powerState to Running to wake it`,
})

const standingOf = (
  { step, installed, failing, power, lookAgainAt }: Omit<Decision, 'standing'>,
  { spec }: ClusterDeployment,
  record: ClusterRecord,
  isDone: boolean,
): Said => {
  if (isDone)
    return {
      type: 'Ready',
      reason: 'Provisioned',
      message: `as wanted; ${power?.toLowerCase()}; cluster ${record.id}`,
    }
  if (step.do === 'Hibernate') return reconciling('Stopping', step.why)
  const progress = currentCondition(record, 'Ready')?.message ?? 'the HyperFleet API has not looked at it yet'
  if (failing !== undefined) {
    const when = lookAgainAt === undefined ? '' : `; counts as failed at ${new Date(lookAgainAt).toISOString()}`
    return reconciling('ProvisionFailing', `attempt ${record.attempt}: ${failing}${when}`)
  }
  if (!installed) return reconciling('Provisioning', progress)
  if (!spec.installed) return reconciling('Installed', 'installed just now')
  return reconciling(power === 'Resuming' || power === 'Stopping' ? power : 'Updating', progress)
}

const givenUp = (
  failed: number,
  limit: number,
  failing: string | undefined,
): Pick<Decision, 'standing' | 'stopped'> => {
  const last = failing === undefined ? '' : `; the last one: ${failing}`
  const message = `${failed} of ${limit} attempts have failed${last}. Raise installAttemptsLimit to try again`
  return {
    standing: stalled('InstallAttemptsLimitReached', message),
    stopped: { reason: 'InstallAttemptsLimitReached', message },
  }
}
