/**
 * A resource as the tables of the Go HyperFleet service have it, with its adapter reports. JSON is parsed; times are texts in
 * RFC 3339, or whatever the database says where that can't be written so, such as `infinity`.
 */
export interface SourceRecord {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly href: string | null
  readonly owner_id: string | null
  readonly owner_kind: string | null
  readonly owner_href: string | null
  readonly generation: number
  readonly created_time: string
  readonly updated_time: string
  readonly deleted_time: string | null
  readonly created_by: string
  readonly updated_by: string
  readonly deleted_by: string | null
  readonly spec: unknown
  readonly labels: unknown
  readonly tenancy: unknown
  readonly conditions: readonly SourceCondition[]
  readonly references: readonly SourceReference[]
  readonly reports: readonly SourceReport[]
}

export interface SourceCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string | null
  readonly message?: string | null
  readonly observed_generation: number
  readonly created_time: string
  readonly last_updated_time: string
  readonly last_transition_time: string
}

export interface SourceReference {
  readonly type: string
  readonly id: string
  readonly kind: string
  readonly href: string | null
}

/** The newest report of one adapter. */
export interface SourceReport {
  readonly adapter: string
  readonly observed_generation: number
  readonly created_time: string
  readonly last_report_time: string
  readonly conditions: unknown
  readonly data: unknown
  readonly metadata: unknown
}

/** What of a record says when its turn is. */
export interface SourceHeader {
  readonly id: string
  readonly kind: string
  readonly name: string
  /** Ids of its owner and of the records that it references: they come before it. */
  readonly after: readonly string[]
}
