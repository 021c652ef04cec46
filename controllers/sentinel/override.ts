/** Backoffs that one resource asks for itself, by labels or annotations (seed: sentinel, Future Enhancements). */
import { DurationError, formatDuration, parseDuration } from '#operator/model/duration.ts'
import type { Backoff } from './decision.ts'
import type { ResourceBody } from './resource.ts'

const PREFIX = 'sentinel.hyperfleet.io/'
const FIELDS = { notReady: `${PREFIX}backoff-not-ready`, ready: `${PREFIX}backoff-ready` } as const

/** Shorter would be a flood, longer would be forgotten. */
const SHORTEST = 1_000
const LONGEST = 24 * 3_600_000

export interface Override {
  /** Only what the resource asks for; undefined when it asks for nothing, which is the rule. */
  readonly backoff: Partial<Backoff> | undefined
  /** Sentences about values that are ignored. */
  readonly refused: readonly string[]
}

const NONE: Override = { backoff: undefined, refused: [] }

/** An annotation wins over a label of the same name. */
export const overrideOf = ({
  id,
  labels,
  annotations,
}: Pick<ResourceBody, 'id' | 'labels' | 'annotations'>): Override => {
  const asked = { notReady: wish('notReady', labels, annotations), ready: wish('ready', labels, annotations) }
  if (asked.notReady === undefined && asked.ready === undefined) return NONE
  const backoff: { notReady?: number; ready?: number } = {}
  const refused: string[] = []
  for (const state of ['notReady', 'ready'] as const) {
    const text = asked[state]
    if (text === undefined) continue
    const duration = durationOf(text)
    if (duration !== undefined && duration >= SHORTEST && duration <= LONGEST) backoff[state] = duration
    else
      refused.push(
        `${FIELDS[state]}=${JSON.stringify(text)} of resource ${id} is ignored: ` +
          `write a duration from ${formatDuration(SHORTEST)} to ${formatDuration(LONGEST)}, such as 45s or 2h`,
      )
  }
  return { backoff: Object.keys(backoff).length === 0 ? undefined : backoff, refused }
}

type Texts = Readonly<Record<string, string>>

const wish = (state: keyof typeof FIELDS, labels: Texts, annotations: Texts): string | undefined =>
  annotations[FIELDS[state]] ?? labels[FIELDS[state]]

const durationOf = (text: string): number | undefined => {
  try {
    return parseDuration(text)
  } catch (error) {
    if (error instanceof DurationError) return undefined
    throw error
  }
}
