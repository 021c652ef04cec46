/** What a deletion waits for, and why: the labels by which stuck deletions are counted. */
import type { Trace, TracedResource } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'

export interface DeletionWait {
  /** Name of the task's resource; '' when everything is gone and only the report of it was not taken. */
  readonly resource: string
  /** `Finalizer`, `Order`, `PreconditionNotMet`, or the reason of a failure: a few words, as metrics bear them. */
  readonly cause: string
}

export interface StuckDeletion extends DeletionWait {
  /** HyperFleet resources whose deletion waits for it. */
  readonly count: number
}

/** @param remaining names of the resources that a deletion still waits for; empty when only the report is missing */
export const deletionWaits = (
  { resources, failures }: Pick<Trace, 'resources' | 'failures'>,
  remaining: readonly string[],
): readonly DeletionWait[] => {
  const [first] = failures
  if (remaining.length === 0) return [{ resource: '', cause: first?.reason ?? 'Report' }]
  return remaining.map((resource) => {
    const own = failures.find(({ step }) => step === resource)
    const action = resources.find(({ name }) => name === resource)?.action
    // What was not looked at waits for what failed before it: a broken order holds up everything.
    return {
      resource,
      cause: own?.reason ?? (action === undefined ? first?.reason : CAUSE_OF_ACTION[action]) ?? 'Unknown',
    }
  })
}

const CAUSE_OF_ACTION: Partial<Record<TracedResource['action'], string>> = {
  leaving: 'Finalizer',
  waiting: 'Order',
  kept: 'PreconditionNotMet',
}

/** How many wait for the same. */
export const countByCause = (waits: readonly DeletionWait[]): readonly StuckDeletion[] => {
  const groups = Map.groupBy(waits, ({ resource, cause }) => `${resource}/${cause}`)
  return [...groups.values()].flatMap(([first, ...rest]) => (first ? [{ ...first, count: rest.length + 1 }] : []))
}
