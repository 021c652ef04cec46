/** Whether an object does what it is for, as kstatus and kubectl see it. Seed: pulses-and-status, adapter task jobs and CRDs. */

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
    readonly readyReplicas?: number
    readonly updatedReplicas?: number
    readonly desiredNumberScheduled?: number
    readonly numberReady?: number
  }
}

/** Conditions by which objects say that they are fit for use; the first that is there counts. */
const FIT = ['Available', 'Ready', 'Complete', 'Established']

/** @param object A Kubernetes object of any kind, as the API server gave it. */
export const readinessOf = (object: object): Readiness => {
  const { kind = 'object', metadata, spec, status } = object as Observed
  const { name = '', namespace } = metadata ?? {}
  const what = `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`
  if (metadata?.deletionTimestamp !== undefined) return atWork('Terminating', `${what} is being deleted`)
  if ((status?.observedGeneration ?? Number.POSITIVE_INFINITY) < (metadata?.generation ?? 0))
    return atWork('NotObserved', `${what} was not looked at by its controller yet`)
  const conditions = status?.conditions ?? []
  switch (kind) {
    case 'Job':
      return jobReadiness(what, conditions)
    case 'Namespace':
      return status?.phase === 'Active' ? serves(what) : atWork('NotActive', `${what} is ${status?.phase ?? 'new'}`)
    case 'StatefulSet':
      return counted(what, status?.readyReplicas ?? 0, spec?.replicas ?? 1)
    case 'DaemonSet':
      return status?.desiredNumberScheduled === undefined
        ? atWork('NotObserved', `${what} was not looked at by its controller yet`)
        : counted(what, status.numberReady ?? 0, status.desiredNumberScheduled)
    case 'Deployment':
      return byConditions(what, conditions, atWork('NotObserved', `${what} says nothing yet`))
    default:
      return byConditions(what, conditions, serves(what))
  }
}

const serves = (what: string): Readiness => ({
  available: 'True',
  reason: 'Available',
  message: `${what} is fit for use`,
})
const atWork = (reason: string, message: string): Readiness => ({ available: 'Unknown', reason, message })

/** The MVP rule of the seed: a Job is retried until it succeeds, and only a complete one is available. */
const jobReadiness = (what: string, conditions: readonly Condition[]): Readiness => {
  const holds = (type: string) => conditions.find((condition) => condition.type === type && condition.status === 'True')
  if (holds('Complete') !== undefined)
    return { available: 'True', reason: 'JobComplete', message: `${what} is complete` }
  const failed = holds('Failed')
  if (failed !== undefined)
    return {
      available: 'False',
      reason: failed.reason ?? 'JobFailed',
      message: `${what} failed: ${failed.message ?? ''}`,
    }
  return atWork('JobRunning', `${what} is at work`)
}

const counted = (what: string, ready: number, wanted: number): Readiness =>
  ready >= wanted ? serves(what) : atWork('Progressing', `${what}: ${ready} of ${wanted} are ready`)

const byConditions = (what: string, conditions: readonly Condition[], otherwise: Readiness): Readiness => {
  const said = FIT.map((type) => conditions.find((condition) => condition.type === type)).find((found) => found)
  if (said === undefined) return otherwise
  if (said.status === 'True') return serves(what)
  const message = said.message === undefined || said.message === '' ? `${what} is not ${said.type}` : said.message
  return said.status === 'False'
    ? { available: 'False', reason: said.reason ?? 'NotAvailable', message }
    : atWork(said.reason ?? 'Progressing', message)
}
