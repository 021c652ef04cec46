/** What a task's worker knows of itself, as the status of its AdapterTask. Pure: the writer is tend.ts. */
import type { AdapterTaskStatus } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { type Condition, type StandingClaim, standing, withConditions } from '#operator/model/conditions.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import type { Summary } from './ledger.ts'

export interface Situation {
  /** metadata.generation of the spec that was looked at last. */
  readonly generation: number | undefined
  /** Why the task can't be run. */
  readonly invalid: string | undefined
  readonly suspended: boolean
  /** Events were asked for and the source answered. */
  readonly connected: boolean
  /** Why events can't be taken; undefined when they can. */
  readonly sourceProblem: string | undefined
  /** Kinds whose changes are not seen, with why. */
  readonly blind: ReadonlyMap<string, string>
  readonly inFlight: number
  readonly summary: Summary
}

type Said = Omit<StandingClaim, 'observedGeneration'>

/** How the task stands, the gravest first. */
const standingOf = ({ invalid, suspended, connected, sourceProblem, blind }: Situation): Said => {
  if (invalid !== undefined)
    return { standing: 'Stalled', reason: 'InvalidTask', message: `${invalid}; nothing is done until it is mended` }
  if (suspended)
    return { standing: 'Ready', reason: 'Suspended', message: 'no run begins while spec.suspend is true; events wait' }
  if (sourceProblem !== undefined)
    return { standing: 'Reconciling', reason: 'EventsUnreachable', message: `${sourceProblem}; tried again soon` }
  if (!connected) return { standing: 'Reconciling', reason: 'Connecting', message: 'asks for events' }
  const [unseen] = blind
  if (unseen !== undefined) {
    const [kind, problem] = unseen
    const mend = 'let its ServiceAccount list and watch it; until then only events make the task look'
    return {
      standing: 'Ready',
      reason: 'WorkingUnwatched',
      message: `changes of ${kind} are not seen (${problem}): ${mend}`,
    }
  }
  return { standing: 'Ready', reason: 'Working', message: 'takes events' }
}

/** A merge patch of the status; null removes. */
export const statusOf = (
  situation: Situation,
  before: readonly Condition[] | undefined,
  now: Date,
): DeepPartial<AdapterTaskStatus> => {
  const { generation, inFlight, summary } = situation
  const claims = standing({ ...standingOf(situation), observedGeneration: generation })
  return {
    observedGeneration: generation ?? null,
    conditions: withConditions(before, claims, now) as AdapterTaskStatus['conditions'] & {},
    ...summary,
    inFlight,
    lastError: summary.lastError ?? null,
  }
}
