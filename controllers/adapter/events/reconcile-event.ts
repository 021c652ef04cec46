/** Reconcile events as adapters get them: CloudEvents 1.0 in structured mode. */
import { errorOf } from '#lib/errors/error-of.ts'
import { ADAPTER_ERRORS } from '../errors.ts'
import type { Json, JsonObject } from '../task/task.ts'

/** What a run is about. */
export interface ReconcileEvent {
  /** Of the event: the same event always has the same one. */
  readonly id: string
  readonly type: string
  /** W3C trace context, sent along with every request of the run. */
  readonly traceparent: string | undefined
  /** `{id, kind, href, generation, owner_references, …}`: what tasks know as `event`. */
  readonly data: EventData
}

export interface EventData extends JsonObject {
  /** Of the resource. */
  readonly id: string
}

/** The message is no event of ours, and never will be. */
export class NotAnEventError extends errorOf(ADAPTER_ERRORS, 'NotAnEventError') {
  constructor(problem: string, options?: ErrorOptions) {
    super(`the message is no reconcile event: ${problem}`, options)
  }
}

/** @throws NotAnEventError that says what is missing */
export const parseEvent = (value: unknown): ReconcileEvent => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new NotAnEventError('it is no object')
  const { specversion, id, type, traceparent, data } = value as Record<string, unknown>
  if (specversion !== '1.0') throw new NotAnEventError('specversion is not "1.0", so it is no CloudEvent')
  if (typeof id !== 'string' || id === '') throw new NotAnEventError('it has no id')
  if (typeof type !== 'string' || type === '') throw new NotAnEventError('it has no type')
  if (typeof data !== 'object' || data === null || Array.isArray(data)) throw new NotAnEventError('it has no data')
  const about = (data as Record<string, unknown>).id
  if (typeof about !== 'string' || about === '') throw new NotAnEventError('data has no id of a resource')
  return {
    id,
    type,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    data: data as EventData,
  }
}

/** @throws NotAnEventError */
export const parseEventText = (text: string): ReconcileEvent => {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch (error) {
    throw new NotAnEventError('it is no JSON', { cause: error })
  }
  return parseEvent(value)
}

/** Where the resource is on the API; undefined when the event does not say. */
export const hrefOf = ({ data }: ReconcileEvent): string | undefined =>
  typeof data.href === 'string' && data.href !== '' ? data.href : undefined
