/** Status conditions, as kstatus and `kubectl wait` read them. Pure: what time it is comes as a parameter. */
import { truncateText } from '#lib/text/truncate.ts'

/** Kubernetes' `meta/v1 Condition`. */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** CamelCase, from a small set. */
  readonly reason: string
  /** A sentence for people; may be empty. */
  readonly message: string
  /** The `metadata.generation` that this was said about. */
  readonly observedGeneration?: number
  /** RFC 3339: since when `status` is what it is. */
  readonly lastTransitionTime: string
}

/** What a controller says; the transition time follows from what was said before. */
export type ConditionInput = Omit<Condition, 'lastTransitionTime'>

/** Kubernetes: meta/v1 Condition. A status with more is refused as a whole; what clouds and other programs say may be any length. */
const MAX_CHARS = { reason: 1_024, message: 32_768 }

/**
 * The conditions after some were claimed, their texts as long as they may be. Those not mentioned stay as they are.
 * `lastTransitionTime` moves only when a status changes. Order: Ready, Reconciling, Stalled, then the others as they came, so that repeated claims change nothing. RUNTIME-40.
 */
export const withConditions = (
  existing: readonly Condition[] | undefined,
  claims: readonly ConditionInput[],
  now: Date,
): readonly Condition[] => {
  const conditions = new Map((existing ?? []).map((condition) => [condition.type, condition]))
  for (const claim of claims) {
    const before = conditions.get(claim.type)
    const isSame = before?.status === claim.status
    conditions.set(claim.type, {
      ...claim,
      reason: truncateText(claim.reason, MAX_CHARS.reason),
      message: truncateText(claim.message, MAX_CHARS.message),
      lastTransitionTime: isSame ? before.lastTransitionTime : timestamp(now),
    })
  }
  return [...conditions.values()].toSorted((a, b) => rank(a) - rank(b))
}

/** How an object stands, as kstatus knows it. */
export type KstatusType =
  /** The goal of this generation is reached. */
  | 'Ready'
  /** On the way, or trying again after an error that may pass. */
  | 'Reconciling'
  /** It will not get there until somebody changes something. */
  | 'Stalled'

export interface KstatusInput {
  readonly type: KstatusType
  readonly reason: string
  readonly message: string
  /** `metadata.generation` of the object that was looked at. */
  readonly observedGeneration: number | undefined
}

/**
 * The three kstatus conditions that say one thing: Ready is True, or one of Reconciling and Stalled is. All three are
 * always there, so that `kubectl wait --for=condition=Stalled=false` works on a ready object too. RUNTIME-41.
 */
export const kstatusConditions = ({
  type: active,
  reason,
  message,
  observedGeneration,
}: KstatusInput): readonly ConditionInput[] => {
  const claim = (type: KstatusType): ConditionInput => {
    const is = type === active
    const said = is || type === 'Ready' ? { reason, message } : { reason: `Not${type}`, message: '' }
    return {
      type,
      status: is ? 'True' : 'False',
      ...said,
      ...(observedGeneration !== undefined && { observedGeneration }),
    }
  }
  return [claim('Ready'), claim('Reconciling'), claim('Stalled')]
}

export const findCondition = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type)

/** Is the condition there with status True? */
export const isTrue = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  findCondition(conditions, type)?.status === 'True'

/** Do both say the same, whatever the order? Then there is nothing to write. */
export const sameConditions = (a: readonly Condition[] = [], b: readonly Condition[] = []): boolean =>
  a.length === b.length &&
  a.every((one) => {
    const other = findCondition(b, one.type)
    return (
      other !== undefined &&
      one.status === other.status &&
      one.reason === other.reason &&
      one.message === other.message &&
      one.observedGeneration === other.observedGeneration &&
      one.lastTransitionTime === other.lastTransitionTime
    )
  })

const FIRST: readonly string[] = ['Ready', 'Reconciling', 'Stalled'] satisfies KstatusType[]

const rank = ({ type }: Condition): number => {
  const place = FIRST.indexOf(type)
  return place === -1 ? FIRST.length : place
}

/** Kubernetes' `metav1.Time` has whole seconds. */
const timestamp = (moment: Date): string => moment.toISOString().replace(/\.\d{3}Z$/, 'Z')
