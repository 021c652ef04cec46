import type { OwnerReference, Resource } from './resource.ts'
import type { Timestamp } from './timestamp.ts'

/** A reconcile event as consumers get it: CloudEvents 1.0, structured mode. */
export interface ReconcileEvent {
  readonly specversion: '1.0'
  /** `<resource id>.<n>`, n counting the events of that resource: the same event always has the same id. */
  readonly id: string
  /** `com.redhat.hyperfleet.<kind>.reconcile`, the kind in lower case. */
  readonly type: string
  /** The client that asked for it, for example a Sentinel and its shard. */
  readonly source: string
  /** The resource's href. */
  readonly subject: string
  readonly time: Timestamp
  readonly datacontenttype: 'application/json'
  /** W3C trace context of the request that asked for it, CloudEvents' distributed tracing extension. */
  readonly traceparent?: string
  /** How often this delivery was replayed from the dead letters; absent when never. An extension attribute. */
  readonly replay?: number
  readonly data: {
    readonly id: string
    readonly kind: string
    readonly href: string
    readonly generation: number
    readonly reason: string
    readonly owner_references?: OwnerReference
  }
}

/** Why, by whom and when an event is asked for. */
export interface EventRequest {
  readonly reason: string
  readonly source: string
  readonly time: Timestamp
  readonly traceparent?: string
  /** When the sender means to ask again unless something changes; for GET …/explain alone. */
  readonly nextTime?: Timestamp
}

/** The event as a consumer gets it that has had it replayed so often. */
export const withReplays = (event: ReconcileEvent, replays: number): ReconcileEvent =>
  replays === 0 ? event : { ...event, replay: replays }

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** The n-th event of a resource. A malformed traceparent is left out, as the W3C asks. */
export const buildReconcileEvent = (resource: Resource, number: number, request: EventRequest): ReconcileEvent => {
  const { id, kind, href, generation, owner_references } = resource
  const { reason, source, time, traceparent } = request
  return {
    specversion: '1.0',
    id: `${id}.${number}`,
    type: `com.redhat.hyperfleet.${kind.toLowerCase()}.reconcile`,
    source,
    subject: href,
    time,
    datacontenttype: 'application/json',
    ...(traceparent !== undefined && TRACEPARENT.test(traceparent) && { traceparent }),
    data: { id, kind, href, generation, reason, ...(owner_references !== undefined && { owner_references }) },
  }
}
