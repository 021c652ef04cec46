import type { Timestamp } from './timestamp.ts'

/** A JSON object whose content is the caller's business, such as a spec. */
export type JsonObject = { readonly [key: string]: unknown }

/** A condition on a resource. Key conditions by type: their order means nothing. */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason?: string
  readonly message?: string
  readonly observed_generation: number
  readonly created_time: Timestamp
  readonly last_updated_time: Timestamp
  readonly last_transition_time: Timestamp
}

/** How far a resource is, in one word (API-20). */
export type Phase = 'Ready' | 'NotReady' | 'Deleting'

export interface ResourceStatus {
  readonly phase: Phase
  /** The newest accepted adapter report; absent until there is one (API-20). */
  readonly lastTransitionTime?: Timestamp
  readonly conditions: readonly Condition[]
  /** While in deletion: the adapters that have not cleaned up yet; when empty, it waits for its children alone. */
  readonly awaited?: readonly string[]
  /** While in deletion: the consumer groups that have not finished with an event from before it; absent when there are none. */
  readonly awaited_groups?: readonly string[]
}

export interface ObjectReference {
  readonly id: string
  readonly kind: string
  readonly href: string
}

export type OwnerReference = ObjectReference

/** The resources that one names, by type of reference; types that name nothing are left out. */
export type References = Readonly<Record<string, readonly ObjectReference[]>>

/** A resource as it is stored and as it goes over the wire: one shape for every kind. */
export interface Resource {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly href: string
  readonly labels?: Readonly<Record<string, string>>
  readonly spec: JsonObject
  /** One object despite its name: the Go service's clients read it so. */
  readonly owner_references?: OwnerReference
  readonly references?: References
  readonly generation: number
  readonly created_time: Timestamp
  readonly updated_time: Timestamp
  /** Set when deletion was asked for; the record stays until its adapters have cleaned up. */
  readonly deleted_time?: Timestamp
  /** The same time under its other name (API-28), for clients that read that one. */
  readonly deleted_at?: Timestamp
  readonly created_by: string
  readonly updated_by: string
  readonly deleted_by?: string
  readonly tenancy: Readonly<Record<string, string>>
  readonly status: ResourceStatus
}

export type ReportedStatus = 'True' | 'False' | 'Unknown'

/** A condition as an adapter reports it. */
export interface ReportedCondition {
  readonly type: string
  readonly status: ReportedStatus
  readonly reason?: string
  readonly message?: string
}

/** A report that passed validation. */
export interface Report {
  readonly adapter: string
  readonly observed_generation: number
  readonly observed_time: Timestamp
  readonly conditions: readonly ReportedCondition[]
  readonly data: JsonObject
  readonly metadata?: JsonObject
}

/** The last accepted report of one adapter about one resource, as stored and sent. */
export interface AdapterStatus {
  readonly adapter: string
  readonly observed_generation: number
  readonly conditions: readonly (ReportedCondition & { readonly last_transition_time: Timestamp })[]
  readonly data: JsonObject
  readonly metadata?: JsonObject
  /** observed_time of the adapter's first report. */
  readonly created_time: Timestamp
  /** observed_time of the newest accepted report. */
  readonly last_report_time: Timestamp
  /** The newest report when it is newer than all this and said Available=Unknown: nothing is aggregated of it. */
  readonly interim?: InterimReport
}

/** A report of Available=Unknown beside the row that it does not replace (API-48). */
export interface InterimReport {
  readonly observed_generation: number
  readonly observed_time: Timestamp
  readonly conditions: AdapterStatus['conditions']
  readonly data: JsonObject
  readonly metadata?: JsonObject
}

/** The status an adapter reports for one condition type; undefined when it did not report it. */
export const reportedStatus = (conditions: readonly ReportedCondition[], type: string): ReportedStatus | undefined =>
  conditions.find((condition) => condition.type === type)?.status
