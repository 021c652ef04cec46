/**
 * The adapters that the HyperFleet API waits for, beside the tasks that there are: a required adapter without a task keeps every
 * resource from being Ready, and of a task that is not required no resource waits. ADAPTER-99, ADAPTER-100, ADAPTER-135. Pure.
 */
import type { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { ConditionInput } from '#operator/model/conditions.ts'
import { isTrustedOrigin } from '#services/hyperfleet-api/client/trusted-origin.ts'

/** On a task: why no resource waits for its adapter before it is Ready. */
export const NOT_REQUIRED_ANNOTATION = 'muster.dev/not-required'

/** What the API says of one kind. */
export interface KindRequirement {
  readonly kind: string
  readonly plural: string
  /** `reporting`: every adapter that has reported, and one at least. `undecided`: none is Ready before it is decided. */
  readonly requiredAdapters: 'reporting' | 'undecided' | readonly string[]
}

/** What of a task decides. */
export interface ComparedTask {
  readonly adapter: string
  /** Plural. */
  readonly resourceType: string
  /** Why it is not meant to be required; undefined when nothing is said. */
  readonly notRequired: string | undefined
  /** It works for the API that was asked. */
  readonly isOfThisApi: boolean
}

/** @param url Of the API that is asked. */
export const comparedTask = ({ metadata, spec }: AdapterTask, url: string): ComparedTask => ({
  adapter: spec.adapter.name,
  resourceType: spec.resourceType,
  notRequired: metadata.annotations?.[NOT_REQUIRED_ANNOTATION],
  isOfThisApi: URL.canParse(spec.hyperfleetAPI.url) && isTrustedOrigin(spec.hyperfleetAPI.url, { url }),
})

/** What is told of the kinds and the tasks together. */
export interface Requirements {
  /** Every adapter that a kind requires by its name, but those that are done elsewhere. */
  readonly adapters: readonly {
    readonly kind: string
    readonly resourceType: string
    readonly adapter: string
    readonly hasTask: boolean
  }[]
  readonly tasks: readonly (Pick<ComparedTask, 'resourceType' | 'adapter'> & {
    /** Resources are Ready without it, or none is, though no person said so. */
    readonly isForgotten: boolean
  })[]
}

/** @param elsewhere adapters that are done where no task is seen */
export const compareRequired = (
  kinds: readonly KindRequirement[],
  tasks: readonly ComparedTask[],
  elsewhere: readonly string[],
): Requirements => ({
  adapters: kinds.flatMap(({ kind, plural, requiredAdapters }) =>
    (typeof requiredAdapters === 'string' ? [] : requiredAdapters)
      .filter((adapter) => !elsewhere.includes(adapter))
      .map((adapter) => ({
        kind,
        resourceType: plural,
        adapter,
        hasTask: tasks.some((one) => one.isOfThisApi && one.adapter === adapter && one.resourceType === plural),
      })),
  ),
  tasks: tasks.map((task) => {
    const { resourceType, adapter } = task
    return { resourceType, adapter, isForgotten: FORGOTTEN.includes(judgeTask(task, kinds).reason) }
  }),
})

/** Reasons for which a task is an alert. */
const FORGOTTEN: readonly string[] = [
  'NotRequired',
  'UnknownResourceType',
  'EveryReportCounts',
  'RequiredAdaptersUndecided',
]

export type RequiredCondition = Pick<ConditionInput, 'status' | 'reason' | 'message'>

/**
 * The condition Required of a task, which Argo CD shows at its sync (apis/argocd/health.lua).
 * @param tasks all that there are: one that is required also tells of adapters of its type that none of them does
 */
export const judgeAmong = (
  task: ComparedTask,
  kinds: readonly KindRequirement[] | undefined,
  tasks: readonly ComparedTask[],
  elsewhere: readonly string[],
  problem: string,
): RequiredCondition => {
  const judged = judgeTask(task, kinds, problem)
  if (kinds === undefined || judged.reason !== 'Required') return judged
  const missing = compareRequired(kinds, tasks, elsewhere).adapters.filter(
    ({ resourceType, hasTask }) => resourceType === task.resourceType && !hasTask,
  )
  if (missing.length === 0) return judged
  const { kind } = missing[0] as { readonly kind: string }
  const names = missing.map(({ adapter }) => adapter).join(', ')
  return {
    status: 'True',
    reason: 'OthersHaveNoTask',
    message: `no ${kind} becomes Ready: each waits for ${names} too, which no task does; add it, or take it out of required_adapters of ${kind}`,
  }
}

/** What one task is beside what the API requires. @param kinds undefined while the API has not said it, for the reason `problem` */
export const judgeTask = (
  { adapter, resourceType, notRequired, isOfThisApi }: ComparedTask,
  kinds: readonly KindRequirement[] | undefined,
  problem = '',
): RequiredCondition => {
  if (!isOfThisApi)
    return { status: 'Unknown', reason: 'OtherAPI', message: 'only the API of --hyperfleet-api-url is asked' }
  if (kinds === undefined) return { status: 'Unknown', reason: 'APINotAsked', message: problem }
  const found = kinds.find(({ plural }) => plural === resourceType)
  if (found === undefined) {
    const served = kinds.map(({ plural }) => plural).join(', ')
    return { status: 'False', reason: 'UnknownResourceType', message: `the API serves ${served}` }
  }
  const { kind, requiredAdapters } = found
  if (typeof requiredAdapters !== 'string' && requiredAdapters.includes(adapter))
    return { status: 'True', reason: 'Required', message: `each ${kind} waits for it before it is Ready` }
  if (notRequired !== undefined) return { status: 'False', reason: 'NotMeantToBe', message: notRequired }
  const remedy = `write ${adapter} in required_adapters of ${kind}, or say in the annotation ${NOT_REQUIRED_ANNOTATION} why not`
  switch (requiredAdapters) {
    case 'reporting':
      return {
        status: 'Unknown',
        reason: 'EveryReportCounts',
        message: `a ${kind} waits for it only once it has reported, and can be Ready before: ${remedy}`,
      }
    case 'undecided':
      return {
        status: 'False',
        reason: 'RequiredAdaptersUndecided',
        message: `no ${kind} becomes Ready before required_adapters is decided: ${remedy}`,
      }
    default:
      return { status: 'False', reason: 'NotRequired', message: `no ${kind} waits for it: ${remedy}` }
  }
}
