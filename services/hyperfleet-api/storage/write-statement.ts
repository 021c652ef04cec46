import type { AdapterStatus, Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import {
  CHANGE_LOCK,
  changedConditions,
  changeRow,
  mutableColumns,
  type ResourceWrite,
  removedConditions,
  resourceRow,
} from './resource-write.ts'
import { type SqlText, sql } from './sql-text.ts'

/** What else a step depends on, and what is written with it. */
export interface ReportGuard {
  /** Writes only when the resource's row still has this version (`xmin`). */
  readonly ifVersion: string
  readonly status: AdapterStatus
}

/**
 * A step as one statement of PostgreSQL: the row first, and all else from the row that was written. Its result has a row
 * when it did anything.
 */
export const writeStatement = (step: ResourceWrite, time: Timestamp, along?: ReportGuard): SqlText => {
  const parts = step.type === 'deleted' ? [] : [...labelParts(step), ...conditionParts(step)]
  if (along !== undefined) parts.push(statusPart(along.status))
  return sql`with resource as (${rowPart(step, along?.ifVersion)} returning id, kind, created_time),
    ${sql.join([...parts, changePart(step, time)])}
    select id from resource`
}

const rowPart = (step: ResourceWrite, version: string | undefined): SqlText => {
  const { resource } = step
  switch (step.type) {
    case 'added':
      return sql`insert into resources ${columnsAndValues(resourceRow(resource))}`
    case 'modified': {
      const set = Object.entries(mutableColumns(resource)).map(([column, value]) => sql`${sql.ref(column)} = ${value}`)
      const guard = version === undefined ? sql`` : sql`and xmin = ${version}::xid`
      return sql`update resources set ${sql.join(set)} where id = ${resource.id} ${guard}`
    }
    case 'deleted':
      return sql`delete from resources where id = ${resource.id}`
  }
}

/** The row of an adapter, of the resource that the part `resource` has written. */
export const statusPart = (status: AdapterStatus): SqlText =>
  sql`reported as (
    insert into adapter_statuses (resource_id, adapter, document)
    select id, ${status.adapter}, ${JSON.stringify(status)} from resource
    on conflict (resource_id, adapter) do update set document = excluded.document
  )`

type UpsertWrite = Exclude<ResourceWrite, { readonly type: 'deleted' }>

const beforeOf = (step: UpsertWrite): Resource | undefined => (step.type === 'modified' ? step.before : undefined)

const labelParts = (step: UpsertWrite): SqlText[] => {
  const before = beforeOf(step)?.labels ?? {}
  const after = step.resource.labels ?? {}
  const changed = Object.fromEntries(
    Object.entries(after).filter(([key, value]) => !Object.hasOwn(before, key) || before[key] !== value),
  )
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  const parts: SqlText[] = []
  if (Object.keys(changed).length > 0)
    parts.push(sql`labels as (
      insert into resource_labels (resource_id, kind, created_time, key, value)
      select id, kind, created_time, label.key, label.value from resource, jsonb_each_text(${JSON.stringify(changed)}::jsonb) as label
      on conflict (resource_id, key) do update set value = excluded.value
    )`)
  if (gone.length > 0)
    parts.push(sql`gone_labels as (
      delete from resource_labels using resource where resource_id = resource.id and key = any (${gone}::text[])
    )`)
  return parts
}

const conditionParts = (step: UpsertWrite): SqlText[] => {
  const before = beforeOf(step)
  const changed = changedConditions(before, step.resource)
  const gone = removedConditions(before, step.resource)
  const parts: SqlText[] = []
  if (changed.length > 0)
    parts.push(sql`conditions as (
      insert into resource_conditions
        (resource_id, kind, created_time, type, status, observed_generation, last_updated_time, last_transition_time)
      select resource.id, resource.kind, resource.created_time, changed.*
      from resource, jsonb_to_recordset(${JSON.stringify(changed)}::jsonb) as changed
        (type text, status text, observed_generation integer, last_updated_time text, last_transition_time text)
      on conflict (resource_id, type) do update set
        status = excluded.status, observed_generation = excluded.observed_generation,
        last_updated_time = excluded.last_updated_time, last_transition_time = excluded.last_transition_time
    )`)
  if (gone.length > 0)
    parts.push(sql`gone_conditions as (
      delete from resource_conditions using resource where resource_id = resource.id and type = any (${gone}::text[])
    )`)
  return parts
}

/** The lock is taken before the version is: a version that a reader doesn't see yet is then always under the lock. */
const changePart = (step: ResourceWrite, time: Timestamp): SqlText => {
  const row = Object.entries(changeRow(step, time))
  const names = sql.join(row.map(([column]) => sql.ref(column)))
  const values = sql.join(row.map(([, value]) => sql`${value}`))
  return sql`locked as materialized (select pg_advisory_xact_lock_shared(${CHANGE_LOCK}::bigint) from resource),
    change as (insert into changes (${names}) select ${values} from locked)`
}

const columnsAndValues = (row: Readonly<Record<string, unknown>>): SqlText =>
  sql`(${sql.join(Object.keys(row).map((column) => sql.ref(column)))}) values (${sql.join(Object.values(row))})`
