/** Backoffs that one resource asks for itself, by labels or annotations (SENTINEL-11). */
import { DurationError, formatDuration, parseDuration } from '#operator/model/duration.ts'
import type { Backoff } from './decide.ts'
import type { ResourceBody } from './resource.ts'

const PREFIX = 'sentinel.hyperfleet.io/'
const FIELDS = { notReady: `${PREFIX}backoff-not-ready`, ready: `${PREFIX}backoff-ready` } as const

/** Shorter would be a flood, longer would be forgotten. */
const MIN_BACKOFF_MS = 1_000
const MAX_BACKOFF_MS = 24 * 3_600_000

export interface BackoffOverride {
  /** Only what the resource asks for; undefined when it asks for nothing, which is the rule. */
  readonly backoff: Partial<Backoff> | undefined
  /** Sentences about values that are ignored. */
  readonly ignored: readonly string[]
}

const NONE: BackoffOverride = { backoff: undefined, ignored: [] }

/** An annotation wins over a label of the same name. */
export const readOverride = ({
  id,
  labels,
  annotations,
}: Pick<ResourceBody, 'id' | 'labels' | 'annotations'>): BackoffOverride => {
  const texts = { notReady: readText('notReady', labels, annotations), ready: readText('ready', labels, annotations) }
  if (texts.notReady === undefined && texts.ready === undefined) return NONE
  const backoff: { notReady?: number; ready?: number } = {}
  const ignored: string[] = []
  for (const state of ['notReady', 'ready'] as const) {
    const text = texts[state]
    if (text === undefined) continue
    const duration = parseOrUndefined(text)
    if (duration !== undefined && duration >= MIN_BACKOFF_MS && duration <= MAX_BACKOFF_MS) backoff[state] = duration
    else
      ignored.push(
        `${FIELDS[state]}=${JSON.stringify(text)} of resource ${id} is ignored: ` +
          `write a duration from ${formatDuration(MIN_BACKOFF_MS)} to ${formatDuration(MAX_BACKOFF_MS)}, such as 45s or 2h`,
      )
  }
  return { backoff: Object.keys(backoff).length === 0 ? undefined : backoff, ignored }
}

type Texts = Readonly<Record<string, string>>

const readText = (state: keyof typeof FIELDS, labels: Texts, annotations: Texts): string | undefined =>
  annotations[FIELDS[state]] ?? labels[FIELDS[state]]

const parseOrUndefined = (text: string): number | undefined => {
  try {
    return parseDuration(text)
  } catch (error) {
    if (error instanceof DurationError) return undefined
    throw error
  }
}
