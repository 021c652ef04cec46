/** One item of the HyperFleet API, checked field by field: a malformed one is refused by itself and harms no other. */

import { errorOf } from '#lib/errors/error-of.ts'
import { quoteValue } from '#lib/text/quote.ts'
import { SENTINEL_ERRORS } from '../errors.ts'

export interface Condition {
  readonly type: string
  readonly status: string
  readonly observedGeneration: number | undefined
  readonly lastUpdatedAt: number | undefined
}

/** What the Sentinel reads of a resource. Times are milliseconds since the epoch. */
export interface ResourceBody {
  readonly id: string
  /** 0 where the API has no generations. */
  readonly generation: number
  /** 0 where the API does not say. */
  readonly createdAt: number
  /** The newest of creation, update and deletion. */
  readonly changedAt: number
  readonly deletedAt: number | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly conditions: readonly Condition[]
  readonly phase: string | undefined
  readonly lastTransitionAt: number | undefined
}

/** An item that can't be judged; the message names the item and the field. */
export class MalformedResource extends errorOf(SENTINEL_ERRORS, 'MalformedResource') {
  constructor(id: string | undefined, field: string, expected: string, actual: unknown) {
    super(
      `item ${id ?? '(without id)'}: ${field} must be ${expected}, but is ${actual === undefined ? 'absent' : quoteValue(actual)}`,
    )
  }
}

/** @throws MalformedResource */
export const parseResource = (item: unknown): ResourceBody => {
  const body = fieldsOf(item, undefined, 'the item')
  const id = body.id
  if (typeof id !== 'string' || id === '') throw new MalformedResource(undefined, 'id', 'a non-empty text', id)
  const status = fieldsOf(body.status ?? {}, id, 'status')
  const createdAt = time(body.created_time ?? body.created_at, id, 'created_time') ?? 0
  const updatedAt = time(body.updated_time ?? body.updated_at, id, 'updated_time')
  const deletedAt = time(body.deleted_time ?? body.deleted_at, id, 'deleted_time')
  return {
    id,
    generation: integer(body.generation, id, 'generation') ?? 0,
    createdAt,
    changedAt: Math.max(createdAt, updatedAt ?? 0, deletedAt ?? 0),
    deletedAt,
    labels: texts(body.labels ?? {}, id, 'labels'),
    annotations: texts(body.annotations ?? {}, id, 'annotations'),
    conditions: conditions(status.conditions ?? [], id),
    phase: text(status.phase, id, 'status.phase'),
    lastTransitionAt: time(status.lastTransitionTime, id, 'status.lastTransitionTime'),
  }
}

const conditions = (value: unknown, id: string): Condition[] => {
  if (!Array.isArray(value)) throw new MalformedResource(id, 'status.conditions', 'a list', value)
  return value.map((entry, index) => {
    const at = `status.conditions[${index}]`
    const condition = fieldsOf(entry, id, at)
    return {
      type: text(condition.type, id, `${at}.type`) ?? '',
      status: text(condition.status, id, `${at}.status`) ?? 'Unknown',
      observedGeneration: integer(condition.observed_generation, id, `${at}.observed_generation`),
      lastUpdatedAt: time(condition.last_updated_time, id, `${at}.last_updated_time`),
    }
  })
}

const fieldsOf = (value: unknown, id: string | undefined, field: string): Record<string, unknown> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MalformedResource(id, field, 'an object', value)
  return value as Record<string, unknown>
}

const texts = (value: unknown, id: string, field: string): Record<string, string> => {
  const entries = fieldsOf(value, id, field)
  for (const [key, entry] of Object.entries(entries))
    if (typeof entry !== 'string') throw new MalformedResource(id, `${field}[${JSON.stringify(key)}]`, 'a text', entry)
  return entries as Record<string, string>
}

const text = (value: unknown, id: string, field: string): string | undefined => {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw new MalformedResource(id, field, 'a text', value)
  return value
}

const integer = (value: unknown, id: string, field: string): number | undefined => {
  if (value === undefined || value === null) return undefined
  if (!Number.isSafeInteger(value)) throw new MalformedResource(id, field, 'a whole number', value)
  return value as number
}

const time = (value: unknown, id: string, field: string): number | undefined => {
  const written = text(value, id, field)
  if (written === undefined) return undefined
  const parsed = Date.parse(written)
  if (Number.isNaN(parsed)) throw new MalformedResource(id, field, 'an RFC 3339 time', value)
  return parsed
}
