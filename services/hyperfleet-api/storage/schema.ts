import type { ColumnType, Generated } from 'kysely'
import type { Timestamp } from '../model/timestamp.ts'

/**
 * The tables, one layout for PostgreSQL and SQLite.
 *
 *   resources ─┬─ resource_labels       what label selectors search
 *              ├─ resource_conditions   what condition searches use
 *              ├─ resource_references   which resources name which
 *              ├─ resource_specs        what searches below spec use
 *              └─ adapter_statuses      newest accepted report of each adapter
 *   archive              records that are gone, as they were last, with their statuses
 *   takeovers            records that came from a Go service's database (takeover/), for good
 *   version_key          by which versions are sealed for tenants
 *   issuer_origins       whose callers the prefixes of names in created_by tell of
 *   resource_counts      how many resources of a kind there are, kept by triggers
 *   status_log           reports that were not aggregated, for tracing
 *   changes              what watch streams replay; change_floor is the newest version no longer there
 *   change_history       whose versions these are; change_gaps are versions that no change of it has (feed/history.ts)
 *   events ── event_deliveries ── event_consumers      a delivery's row lives until it is acknowledged
 *   event_recipients     which groups were told of which resources
 *   event_stream         which JetStream stream the places of events are in; one row
 *
 * A resource's row holds its wire document as text, and beside it the columns that lists filter and order by. Reading
 * a resource is therefore one row and no parsing; the side tables are for searching only.
 */
export interface Tables {
  resources: ResourceRow
  resource_labels: LabelRow
  resource_conditions: ConditionRow
  resource_references: ReferenceRow
  resource_specs: SpecRow
  resource_counts: CountRow
  adapter_statuses: AdapterStatusRow
  archive: ArchiveRow
  takeovers: TakeoverRow
  issuer_origins: IssuerOriginRow
  version_key: VersionKeyRow
  status_log: StatusLogRow
  changes: ChangeRow
  change_floor: ChangeFloorRow
  change_gaps: ChangeGapRow
  events: EventRow
  event_consumers: ConsumerRow
  event_deliveries: DeliveryRow
  event_recipients: RecipientRow
  event_stream: EventStreamRow
}

export interface ResourceRow {
  id: string
  kind: string
  name: string
  href: string
  owner_id: string | null
  owner_kind: string | null
  generation: number
  created_time: Timestamp
  updated_time: Timestamp
  deleted_time: Timestamp | null
  created_by: string
  updated_by: string
  deleted_by: string | null
  /** In deletion: the adapters that are waited for, JSON. */
  awaited: string | null
  /** In deletion: the consumer groups that have not finished with an event from before it, JSON; null when there are none. */
  awaited_groups: string | null
  /** JSON with sorted keys, so that equal tenancies are equal text. */
  tenancy: string
  /** The wire form, JSON. */
  document: string
  /** How many events were made for this resource: numbers the next one. */
  event_count: ColumnType<number, number | undefined, number>
}

export interface LabelRow {
  resource_id: string
  kind: string
  /** Of the resource, so that an index has what fits in the order of lists. */
  created_time: ColumnType<Timestamp, Timestamp, never>
  key: string
  value: string
}

export interface ConditionRow {
  resource_id: string
  kind: string
  /** Of the resource. */
  created_time: ColumnType<Timestamp, Timestamp, never>
  type: string
  status: 'True' | 'False'
  observed_generation: number
  last_updated_time: Timestamp
  last_transition_time: Timestamp
}

export interface ReferenceRow {
  source_id: string
  ref_type: string
  target_id: string
}

export interface SpecRow {
  resource_id: string
  kind: string
  /** JSON: text in SQLite, jsonb with an index on PostgreSQL. */
  spec: ColumnType<unknown, string, string>
}

/** A part of how many resources of a kind there are; the sum of its slots is the number. */
export interface CountRow {
  kind: string
  slot: number
  count: number
}

export interface AdapterStatusRow {
  resource_id: string
  adapter: string
  /** The wire form, JSON. */
  document: string
}

export interface ArchiveRow {
  /** Of the resource; ids are never used again. */
  id: string
  kind: string
  name: string
  /** JSON with sorted keys. */
  tenancy: string
  archived_time: Timestamp
  /** The wire form, JSON. */
  document: string
}

/** It stays when the resource goes: a takeover that is repeated brings back nothing that was deleted since. */
export interface TakeoverRow {
  /** Of the resource. */
  id: string
  /** Of the record as the source had it, SHA-256 in hex. */
  digest: string
  time: Timestamp
}

export interface IssuerOriginRow {
  /** What stands before a caller's name; '' where nothing does. */
  prefix: string
  /** What the tokens of these callers have as `iss`. */
  issuer: string
}

export interface StatusLogRow {
  id: Generated<number>
  resource_id: string
  adapter: string
  received_time: Timestamp
  /** Why the report was not aggregated. */
  reason: string
  /** The report, JSON. */
  report: string
}

/** One row, which no caller sees. */
export interface VersionKeyRow {
  secret: string
}

export interface ChangeRow {
  /** The resourceVersion; grows with every change, in the order in which changes may be sent. */
  version: Generated<number>
  type: 'added' | 'modified' | 'deleted'
  resource_id: string
  kind: string
  owner_id: string | null
  /** Labels before and after, JSON: they tell which selectors the resource enters or leaves. */
  labels_before: string
  labels: string
  /** The wire form after the change (before it, for a deletion), JSON. */
  document: string
  time: Timestamp
}

export interface ChangeFloorRow {
  /** The newest version that is no longer there. */
  version: number
  /** Of versions before `change_history`, which run beside this one while it is rolled out. */
  origin: ColumnType<string, never, never>
}

/** Versions between the last of one history and the first of the next, both not included: no change ever had them here. */
export interface ChangeGapRow {
  after: number
  upto: number
}

export interface EventRow {
  /** Publishing order. */
  sequence: Generated<number>
  /** CloudEvents id, `<resource id>.<n>`. */
  id: string
  resource_id: string
  kind: string
  generation: number
  reason: string
  /** The CloudEvent, JSON. */
  document: string
  time: Timestamp
  /** When a consumer first took it; until then an equal request is answered with this event. */
  taken_time: Timestamp | null
  /** When it was handed to NATS JetStream. */
  relayed_time: Timestamp | null
  /** When its sender means to ask again unless something changes; null when it did not say. */
  next_time: ColumnType<Timestamp | null, Timestamp | null | undefined, Timestamp | null>
  /** Its place in the JetStream stream. */
  stream_sequence: ColumnType<number | null, number | null | undefined, number | null>
}

export interface ConsumerRow {
  name: string
  kind: string
  /** Kubernetes label selector text, '' for all. */
  selector: string
  max_deliveries: number
  created_time: Timestamp
}

/** A group that was told of a resource. It goes on being told when the resource leaves its selector (API-51). */
export interface RecipientRow {
  resource_id: string
  consumer: string
}

/** See events/jetstream/places.ts. */
export interface EventStreamRow {
  /** When NATS made the stream, as it says; '' until it is noted. */
  created: ColumnType<string, never, string>
  /** Grows whenever places stop to mean what they meant. */
  epoch: ColumnType<number, never, number>
  /** The newest place that was noted. */
  newest: ColumnType<number, never, number>
}

export interface DeliveryRow {
  consumer: string
  event_sequence: number
  /** When it may be claimed (again). */
  visible_time: Timestamp
  deliveries: number
  /** How many of these were given back before the work was done: they don't count towards the dead letters. */
  given_back: ColumnType<number, number | undefined, number>
  /** The claim that holds it, part of the receipt. */
  claim: string | null
  /** Set when it was delivered too often: it waits in the dead-letter list. */
  dead_time: Timestamp | null
  /** How often it was taken out of the dead-letter list. */
  replays: ColumnType<number, number | undefined, number>
  /** With JetStream: the place of the message that carries it; null until it was relayed. */
  stream_sequence: ColumnType<number | null, number | null | undefined, number | null>
  /** With JetStream: 1 once the message was handed out there, to a claim or to a client of NATS. */
  is_pulled: ColumnType<number, number | undefined, number>
  /** With JetStream: the subject on which the present claim is acknowledged. */
  reply: ColumnType<string | null, string | null | undefined, string | null>
}
