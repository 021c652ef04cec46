import { computeStatus } from '../model/compute-status.ts'
import type { Entity } from '../model/entity.ts'
import {
  type AdapterStatus,
  type Condition,
  type JsonObject,
  type References,
  type ReportedCondition,
  type Resource,
  reportedStatus,
} from '../model/resource.ts'
import { parseTimestamp, type Timestamp } from '../model/timestamp.ts'
import { configuredHref } from './check-record.ts'
import type { SourceCondition, SourceRecord, SourceReport } from './source-record.ts'

/** A record as it is stored here. */
export interface TranslatedRecord {
  readonly resource: Resource
  /** By adapter. */
  readonly statuses: readonly AdapterStatus[]
}

/**
 * A record of the Go service as one of ours (API-130). Conditions are computed from its reports by the rules of this API, and
 * go on from the conditions that it had: their times, and the generation that `Available` speaks of.
 * @param record in which `findObstacle` found none
 * @param hasChildren whether there are records whose owner it is, those in deletion included
 */
export const translateRecord = (record: SourceRecord, entity: Entity, hasChildren: boolean): TranslatedRecord => {
  const { labels, owner_id, owner_kind, deleted_time, deleted_by } = record
  const href = configuredHref(record, entity)
  const named = translateReferences(record)
  const deleted = deleted_time === null ? undefined : time(deleted_time)
  const resource = {
    id: record.id,
    kind: record.kind,
    name: record.name,
    href,
    ...(Object.keys(labels as object).length > 0 && { labels: labels as Readonly<Record<string, string>> }),
    spec: record.spec as JsonObject,
    ...(owner_id !== null &&
      owner_kind !== null && {
        owner_references: {
          id: owner_id,
          kind: owner_kind,
          href: href.slice(0, href.lastIndexOf(`/${entity.plural}/`)),
        },
      }),
    ...(Object.keys(named).length > 0 && { references: named }),
    generation: record.generation,
    created_time: time(record.created_time),
    updated_time: time(record.updated_time),
    created_by: record.created_by,
    updated_by: record.updated_by,
    tenancy: record.tenancy as Readonly<Record<string, string>>,
    ...(deleted !== undefined && {
      deleted_time: deleted,
      deleted_at: deleted,
      deleted_by: deleted_by ?? record.updated_by,
    }),
  }
  const statuses = record.reports.map(translateReport)
  const previous = withBothNames(record.conditions.flatMap(translateCondition))
  const waits = { rows: statuses, hasChildren: deleted !== undefined && hasChildren, runs: [] }
  const status = computeStatus(entity, resource, { ...waits, previous, lastTransitionTime: newestReport(statuses) })
  return { resource: { ...resource, status }, statuses }
}

const translateReferences = ({ references }: SourceRecord): References => {
  const types = [...new Set(references.map(({ type }) => type))]
  return Object.fromEntries(
    types.map((type) => [
      type,
      references
        .filter((reference) => reference.type === type)
        .map(({ id, kind, href }) => ({ id, kind, href: href ?? '' })),
    ]),
  )
}

const translateReport = (report: SourceReport): AdapterStatus => {
  const conditions = report.conditions as readonly (ReportedCondition & { readonly last_transition_time: string })[]
  return {
    adapter: report.adapter,
    observed_generation: report.observed_generation,
    conditions: conditions.map(({ type, status, reason, message, last_transition_time }) => ({
      type,
      status,
      ...texts({ reason, message }),
      last_transition_time: time(last_transition_time),
    })),
    data: (report.data ?? {}) as JsonObject,
    ...(report.metadata !== null && { metadata: report.metadata as JsonObject }),
    created_time: time(report.created_time),
    last_report_time: time(report.last_report_time),
  }
}

const translateCondition = (condition: SourceCondition): Condition[] => {
  const { type, status, reason, message, observed_generation } = condition
  if (status !== 'True' && status !== 'False') return []
  return [
    {
      type,
      status,
      ...texts({ reason, message }),
      // Releases before v0.2 write 0 while no adapter has reported.
      observed_generation: Math.max(1, observed_generation),
      created_time: time(condition.created_time),
      last_updated_time: time(condition.last_updated_time),
      last_transition_time: time(condition.last_transition_time),
    },
  ]
}

/** Old and new names of the two conditions that every resource has; here they always have the same values (API-10). */
const NAMES = [
  ['Available', 'LastKnownReconciled'],
  ['Ready', 'Reconciled'],
] as const

const withBothNames = (conditions: readonly Condition[]): Condition[] => {
  const find = (name: string) => conditions.find(({ type }) => type === name)
  const pairs = NAMES.flatMap(([old, present]) => {
    const condition = find(present) ?? find(old)
    return condition === undefined ? [] : [old, present].map((type) => ({ ...condition, type }))
  })
  return [...pairs, ...conditions.filter(({ type }) => !NAMES.flat().some((name) => name === type))]
}

/** `status.lastTransitionTime`: Unknown moves no time (API-20). */
const newestReport = (statuses: readonly AdapterStatus[]): Timestamp | undefined =>
  statuses
    .filter(({ conditions }) => ['True', 'False'].includes(reportedStatus(conditions, 'Available') ?? ''))
    .map(({ last_report_time }) => last_report_time)
    .sort()
    .at(-1)

/** Null and absent mean the same there. */
const texts = (fields: { readonly reason?: string | null | undefined; readonly message?: string | null | undefined }) =>
  Object.fromEntries(Object.entries(fields).filter(([, text]) => typeof text === 'string')) as {
    reason?: string
    message?: string
  }

const time = (text: string): Timestamp => {
  const timestamp = parseTimestamp(text)
  if (timestamp === undefined) throw new TypeError(`${text} is no time, which findObstacle says`)
  return timestamp
}
