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

/** A condition to set; its transition time follows from the one before. */
export type ConditionInput = Omit<Condition, 'lastTransitionTime'>

/** Kubernetes: meta/v1 Condition. A status with more is refused as a whole; what clouds and other programs say may be any length. */
const MAX_CHARS = { reason: 1_024, message: 32_768 }

/**
 * The conditions after some are set, their texts as long as they may be. Those not mentioned stay as they are.
 * `lastTransitionTime` moves only when a status changes. Order: Ready, Reconciling, Stalled, then the others as they came, so that repeated inputs change nothing. RUNTIME-40.
 */
export const withConditions = (
  existing: readonly Condition[] | undefined,
  inputs: readonly ConditionInput[],
  now: Date,
): readonly Condition[] => {
  const conditions = new Map((existing ?? []).map((condition) => [condition.type, condition]))
  for (const input of inputs) {
    const before = conditions.get(input.type)
    const isSame = before?.status === input.status
    conditions.set(input.type, {
      ...input,
      reason: truncateText(input.reason, MAX_CHARS.reason),
      message: truncateText(input.message, MAX_CHARS.message),
      lastTransitionTime: isSame ? before.lastTransitionTime : timestamp(now),
    })
  }
  return [...conditions.values()].toSorted((a, b) => rank(a) - rank(b))
}

/** The conditions of kstatus: one of them says what an object is. */
export type KstatusType =
  /** The goal of this generation is reached. */
  | 'Ready'
  /** On the way, or trying again after an error that may pass. */
  | 'Reconciling'
  /** It stays so until its spec or what it depends on changes. */
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
  const input = (type: KstatusType): ConditionInput => {
    const is = type === active
    const text = is || type === 'Ready' ? { reason, message } : { reason: `Not${type}`, message: '' }
    return {
      type,
      status: is ? 'True' : 'False',
      ...text,
      ...(observedGeneration !== undefined && { observedGeneration }),
    }
  }
  return [input('Ready'), input('Reconciling'), input('Stalled')]
}

export const findCondition = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type)

/** Is the condition there with status True? */
export const isTrue = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  findCondition(conditions, type)?.status === 'True'

const LEADING_TYPES: readonly string[] = ['Ready', 'Reconciling', 'Stalled'] satisfies KstatusType[]

const rank = ({ type }: Condition): number => {
  const place = LEADING_TYPES.indexOf(type)
  return place === -1 ? LEADING_TYPES.length : place
}

/** Kubernetes' `metav1.Time` has whole seconds. */
const timestamp = (moment: Date): string => moment.toISOString().replace(/\.\d{3}Z$/, 'Z')
