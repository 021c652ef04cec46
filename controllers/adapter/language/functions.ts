/** The functions that task expressions have beyond the standard ones; names and meaning are the Go adapter's. They accept whatever JSON an API gives: ADAPTER-15. */
import { type CelFunction, toJson } from '#lib/cel/index.ts'

const map = (value: unknown): ReadonlyMap<unknown, unknown> | undefined => (value instanceof Map ? value : undefined)
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The first condition of a type. Lists of conditions come from APIs and may be anything. */
const condition = (conditions: unknown, type: string): ReadonlyMap<unknown, unknown> | undefined =>
  list(conditions)
    .map(map)
    .find((each) => each?.get('type') === type)

const conditionStatus = (conditions: unknown, type: string): string => {
  const status = condition(conditions, type)?.get('status')
  return typeof status === 'string' ? status : 'Unknown'
}

/** Seconds since a condition last changed; -1 without one, or without a time that can be read. */
const conditionAge = (conditions: unknown, type: string, now: Date): bigint => {
  const found = condition(conditions, type)
  // The API of HyperFleet writes the first name, Kubernetes the second.
  const since = found?.get('last_transition_time') ?? found?.get('lastTransitionTime')
  const milliseconds = typeof since === 'string' ? Date.parse(since) : Number.NaN
  return Number.isNaN(milliseconds) ? -1n : BigInt(Math.floor((now.getTime() - milliseconds) / 1_000))
}

/** A nested value by a path such as `a.b.0`; null where the path ends. */
const dig = (value: unknown, path: string): unknown => {
  let at: unknown = value
  for (const key of path.split('.')) {
    if (at instanceof Map) at = at.get(key)
    else if (Array.isArray(at) && /^\d{1,5}$/.test(key)) at = at[Number(key)]
    else return null
    if (at === undefined) return null
  }
  return at
}

/** The text of a named value in a ManifestWork's status feedback; '' without one. */
const statusFeedbackValue = (feedback: unknown, name: string): string => {
  const found = list(map(feedback)?.get('values'))
    .map(map)
    .find((each) => each?.get('name') === name)
  const text = map(found?.get('fieldValue'))?.get('string')
  return typeof text === 'string' ? text : ''
}

const jsonText = (value: unknown): string => JSON.stringify(toJson(value))

const ELEMENTS_A_STEP = 8
const listCost = (value: unknown): number => list(value).length / ELEMENTS_A_STEP

/** RFC 3339 without a fraction, as Go formats it. */
const timeText = (time: Date): string => `${time.toISOString().slice(0, 19)}Z`

export const taskFunctions = (now: () => Date): readonly CelFunction[] => [
  {
    signature: 'now(): string',
    description: 'The time, as RFC 3339: write timestamp(now()) to reckon.',
    call: () => timeText(now()),
  },
  { signature: 'toJson(dyn): string', description: 'A value as JSON.', call: jsonText },
  {
    signature: 'dig(dyn, string): dyn',
    description: 'A nested value by its path, such as "a.b.0"; null where there is none.',
    call: dig,
    cost: (_: unknown, path: string) => path.length / ELEMENTS_A_STEP,
  },
  {
    signature: 'conditionStatus(dyn, string): string',
    description: 'The status of a condition: "True", "False", or "Unknown" without one.',
    call: conditionStatus,
    cost: listCost,
  },
  {
    signature: 'conditionAge(dyn, string): int',
    description: 'Seconds since a condition last changed; -1 without one.',
    call: (conditions: unknown, type: string) => conditionAge(conditions, type, now()),
    cost: listCost,
  },
  {
    signature: 'stableFor(dyn, string, int): bool',
    description: 'Whether a condition has been "True" for so many seconds.',
    call: (conditions: unknown, type: string, seconds: bigint) =>
      conditionStatus(conditions, type) === 'True' && conditionAge(conditions, type, now()) >= seconds,
    cost: listCost,
  },
  {
    signature: 'statusFeedbackValue(dyn, string): string',
    description: 'A value of a ManifestWork’s status feedback; "" without one.',
    call: statusFeedbackValue,
  },
  {
    signature: 'triState(bool, bool): string',
    description: '"True" when the first holds, "False" when the second does, else "Unknown".',
    call: (isTrue: boolean, isFalse: boolean) => (isTrue ? 'True' : isFalse ? 'False' : 'Unknown'),
  },
]
