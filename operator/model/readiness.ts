/** Whether an object does what it is for, as kstatus and kubectl see it. */

export interface Readiness {
  /** Unknown: it is still at work. */
  readonly available: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
}

interface Condition {
  readonly type?: string
  readonly status?: string
  readonly reason?: string
  readonly message?: string
}

/** What is read of an object of any kind. */
interface Observed {
  readonly kind?: string
  readonly metadata?: {
    readonly name?: string
    readonly namespace?: string
    readonly generation?: number
    readonly deletionTimestamp?: string
  }
  readonly spec?: { readonly replicas?: number; readonly suspend?: boolean }
  readonly status?: {
    readonly observedGeneration?: number
    readonly phase?: string
    readonly conditions?: readonly Condition[]
    readonly replicas?: number
    readonly readyReplicas?: number
    readonly currentRevision?: string
    readonly updateRevision?: string
    readonly desiredNumberScheduled?: number
    readonly numberReady?: number
  }
}

/** Conditions by which objects say that they are fit for use; the first that is there counts. */
const READY_TYPES = ['Available', 'Ready', 'Complete', 'Established']

/** @param object A Kubernetes object of any kind, as the API server gave it. */
export const readinessOf = (object: object): Readiness => {
  const { kind = 'object', metadata, spec, status } = object as Observed
  const { name = '', namespace } = metadata ?? {}
  const what = `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`
  if (metadata?.deletionTimestamp !== undefined) return inProgress('Terminating', `${what} is being deleted`)
  if ((status?.observedGeneration ?? Number.POSITIVE_INFINITY) < (metadata?.generation ?? 0))
    return inProgress('NotObserved', `${what} was not looked at by its controller yet`)
  const conditions = status?.conditions ?? []
  switch (kind) {
    case 'Job':
      return jobReadiness(what, conditions)
    case 'Namespace':
      return status?.phase === 'Active'
        ? available(what)
        : inProgress('NotActive', `${what} is ${status?.phase ?? 'new'}`)
    case 'StatefulSet':
      return statefulSetReadiness(what, status, spec?.replicas ?? 1)
    case 'DaemonSet':
      return status?.desiredNumberScheduled === undefined
        ? inProgress('NotObserved', `${what} was not looked at by its controller yet`)
        : replicasReadiness(what, status.numberReady ?? 0, status.desiredNumberScheduled)
    case 'Deployment':
      return conditionReadiness(what, conditions, inProgress('NotObserved', `${what} says nothing yet`))
    default:
      return conditionReadiness(what, conditions, available(what))
  }
}

const available = (what: string): Readiness => ({
  available: 'True',
  reason: 'Available',
  message: `${what} is fit for use`,
})
const inProgress = (reason: string, message: string): Readiness => ({ available: 'Unknown', reason, message })

/** A Job is retried until it succeeds, and only a complete one is available. */
const jobReadiness = (what: string, conditions: readonly Condition[]): Readiness => {
  const trueCondition = (type: string) =>
    conditions.find((condition) => condition.type === type && condition.status === 'True')
  if (trueCondition('Complete') !== undefined)
    return { available: 'True', reason: 'JobComplete', message: `${what} is complete` }
  const failed = trueCondition('Failed')
  if (failed !== undefined)
    return {
      available: 'False',
      reason: failed.reason ?? 'JobFailed',
      message: `${what} failed: ${failed.message ?? ''}`,
    }
  return inProgress('JobRunning', `${what} is at work`)
}

/** As kstatus has it: it may have as many ready pods as it should, and they are to be replaced, or others are still to end. */
const statefulSetReadiness = (what: string, status: Observed['status'], desired: number): Readiness => {
  const { replicas = 0, readyReplicas = 0, currentRevision, updateRevision } = status ?? {}
  if (replicas > desired) return inProgress('Progressing', `${what}: ${replicas - desired} are to end`)
  if (replicas > 0 && currentRevision !== updateRevision)
    return inProgress('Progressing', `${what}: its pods are being replaced`)
  return replicasReadiness(what, readyReplicas, desired)
}

const replicasReadiness = (what: string, ready: number, desired: number): Readiness =>
  ready >= desired ? available(what) : inProgress('Progressing', `${what}: ${ready} of ${desired} are ready`)

const conditionReadiness = (what: string, conditions: readonly Condition[], otherwise: Readiness): Readiness => {
  const condition = READY_TYPES.map((type) => conditions.find((condition) => condition.type === type)).find(
    (found) => found,
  )
  if (condition === undefined) return otherwise
  if (condition.status === 'True') return available(what)
  const message =
    condition.message === undefined || condition.message === '' ? `${what} is not ${condition.type}` : condition.message
  return condition.status === 'False'
    ? { available: 'False', reason: condition.reason ?? 'NotAvailable', message }
    : inProgress(condition.reason ?? 'Progressing', message)
}
