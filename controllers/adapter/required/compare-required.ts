/**
 * The adapters that the HyperFleet API waits for, beside the tasks that there are: a required adapter without a task keeps every
 * resource from being Ready, and of a task that is not required no resource waits. ADAPTER-99, ADAPTER-100. Pure.
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
  /** `reporting`: every adapter that has reported, and one at least. */
  readonly requiredAdapters: 'reporting' | readonly string[]
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
  isOfThisApi:
    URL.canParse(spec.hyperfleetAPI.url) && isTrustedOrigin(spec.hyperfleetAPI.url, { url, tokenFile: undefined }),
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
    /** Resources are Ready without it, though no person said so. */
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
    (requiredAdapters === 'reporting' ? [] : requiredAdapters)
      .filter((adapter) => !elsewhere.includes(adapter))
      .map((adapter) => ({
        kind,
        resourceType: plural,
        adapter,
        hasTask: tasks.some((one) => one.isOfThisApi && one.adapter === adapter && one.resourceType === plural),
      })),
  ),
  tasks: tasks.map((task) => {
    const { status, reason } = judgeTask(task, kinds)
    const { resourceType, adapter } = task
    return { resourceType, adapter, isForgotten: status === 'False' && reason !== 'NotMeantToBe' }
  }),
})

export type RequiredCondition = Pick<ConditionInput, 'status' | 'reason' | 'message'>

/** The condition Required of a task. @param kinds undefined while the API has not said it, for the reason `problem` */
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
  if (requiredAdapters === 'reporting')
    return { status: 'True', reason: 'EveryReportCounts', message: `each ${kind} waits for all that have reported` }
  if (requiredAdapters.includes(adapter))
    return { status: 'True', reason: 'Required', message: `each ${kind} waits for it before it is Ready` }
  if (notRequired !== undefined) return { status: 'False', reason: 'NotMeantToBe', message: notRequired }
  return {
    status: 'False',
    reason: 'NotRequired',
    message: `no ${kind} waits for it: add ${adapter} to required_adapters of ${kind}, or say in the annotation ${NOT_REQUIRED_ANNOTATION} why not`,
  }
}
