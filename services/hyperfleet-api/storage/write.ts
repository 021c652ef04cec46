import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { Condition, Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { DialectName, Writer } from './database.ts'
import type { ChangeRow, ConditionRow } from './schema.ts'

/**
 * One step of a mutation: what a decision wants to be true of one resource. The row, its search tables and the change
 * that watchers see are written together, in the caller's transaction.
 */
export type Step =
  | { readonly type: 'added'; readonly resource: Resource }
  | { readonly type: 'modified'; readonly before: Resource; readonly resource: Resource }
  | { readonly type: 'deleted'; readonly resource: Resource }

/** Any fixed number. Writers share this lock from taking a version until they commit; see feed/tail.ts. */
export const CHANGE_LOCK = 7_233_002

export const writeStep = async (writer: Writer, dialect: DialectName, step: Step, time: Timestamp): Promise<void> => {
  switch (step.type) {
    case 'added':
      await insertResource(writer, step.resource)
      await insertLabels(writer, step.resource)
      await putReferences(writer, step.resource)
      await putConditions(writer, step.resource, undefined)
      break
    case 'modified':
      await updateResource(writer, step.before, step.resource)
      await putReferences(writer, step.resource, step.before)
      break
    case 'deleted':
      await writer.deleteFrom('resources').where('id', '=', step.resource.id).execute()
      break
  }
  await insertChange(writer, dialect, changeOf(step, time))
}

const insertResource = async (writer: Writer, resource: Resource): Promise<void> => {
  await writer
    .insertInto('resources')
    .values({
      id: resource.id,
      kind: resource.kind,
      owner_id: resource.owner_references?.id ?? null,
      owner_kind: resource.owner_references?.kind ?? null,
      name: resource.name,
      href: resource.href,
      created_time: resource.created_time,
      created_by: resource.created_by,
      tenancy: sortedJson(resource.tenancy),
      ...changeable(resource),
    })
    .execute()
}

const updateResource = async (writer: Writer, before: Resource, resource: Resource): Promise<void> => {
  await writer.updateTable('resources').set(changeable(resource)).where('id', '=', resource.id).execute()
  if (sortedJson(before.labels ?? {}) !== sortedJson(resource.labels ?? {})) {
    await writer.deleteFrom('resource_labels').where('resource_id', '=', resource.id).execute()
    await insertLabels(writer, resource)
  }
  await putConditions(writer, resource, before)
}

const changeable = (resource: Resource) => ({
  generation: resource.generation,
  updated_time: resource.updated_time,
  updated_by: resource.updated_by,
  deleted_time: resource.deleted_time ?? null,
  deleted_by: resource.deleted_by ?? null,
  awaited: resource.status.awaited === undefined ? null : JSON.stringify(resource.status.awaited),
  document: JSON.stringify(resource),
})

const insertLabels = async (writer: Writer, { id, kind, labels = {} }: Resource): Promise<void> => {
  const rows = Object.entries(labels).map(([key, value]) => ({ resource_id: id, kind, key, value }))
  if (rows.length > 0) await writer.insertInto('resource_labels').values(rows).execute()
}

/** Writes which resources one names, when that changes. */
const putReferences = async (writer: Writer, resource: Resource, before?: Resource): Promise<void> => {
  const { id, references = {} } = resource
  if (before !== undefined && JSON.stringify(before.references ?? {}) === JSON.stringify(references)) return
  if (before?.references !== undefined)
    await writer.deleteFrom('resource_references').where('source_id', '=', id).execute()
  const rows = Object.entries(references).flatMap(([ref_type, targets]) =>
    targets.map((target) => ({ source_id: id, ref_type, target_id: target.id })),
  )
  if (rows.length > 0) await writer.insertInto('resource_references').values(rows).execute()
}

/** Writes the conditions that differ from those before and removes those that are gone. */
const putConditions = async (writer: Writer, resource: Resource, before: Resource | undefined): Promise<void> => {
  const { id: resource_id, kind } = resource
  const changed = changedConditions(before, resource)
  if (changed.length > 0)
    await writer
      .insertInto('resource_conditions')
      .values(changed.map((condition) => ({ resource_id, kind, ...condition })))
      .onConflict((conflict) =>
        conflict.columns(['resource_id', 'type']).doUpdateSet((row) => ({
          status: row.ref('excluded.status'),
          observed_generation: row.ref('excluded.observed_generation'),
          last_updated_time: row.ref('excluded.last_updated_time'),
          last_transition_time: row.ref('excluded.last_transition_time'),
        })),
      )
      .execute()
  const gone = goneConditions(before, resource)
  if (gone.length > 0)
    await writer
      .deleteFrom('resource_conditions')
      .where('resource_id', '=', resource_id)
      .where('type', 'in', gone)
      .execute()
}

/** What of a condition is searched. */
type SearchedCondition = Omit<ConditionRow, 'resource_id' | 'kind'>

/** The conditions that searches must see otherwise than before. */
export const changedConditions = (before: Resource | undefined, after: Resource): SearchedCondition[] => {
  const known = new Map(before?.status.conditions.map((condition) => [condition.type, searched(condition)]))
  return after.status.conditions
    .map(searched)
    .filter((condition) => !isDeepStrictEqual(condition, known.get(condition.type)))
}

/** The types of the conditions that are no longer there. */
export const goneConditions = (before: Resource | undefined, { status }: Resource): string[] => {
  const left = new Set(status.conditions.map(({ type }) => type))
  return (before?.status.conditions ?? []).map(({ type }) => type).filter((type) => !left.has(type))
}

const searched = ({
  type,
  status,
  observed_generation,
  last_updated_time,
  last_transition_time,
}: Condition): SearchedCondition => ({
  type,
  status,
  observed_generation,
  last_updated_time,
  last_transition_time,
})

/** The change as watchers see it. */
export const changeOf = (step: Step, time: Timestamp): Omit<ChangeRow, 'version'> => {
  const { resource } = step
  const labels = JSON.stringify(resource.labels ?? {})
  const before =
    step.type === 'added' ? '{}' : JSON.stringify((step.type === 'modified' ? step.before : resource).labels ?? {})
  return {
    type: step.type,
    resource_id: resource.id,
    kind: resource.kind,
    owner_id: resource.owner_references?.id ?? null,
    labels_before: before,
    labels,
    document: JSON.stringify(resource),
    time,
  }
}

const insertChange = async (writer: Writer, dialect: DialectName, row: Omit<ChangeRow, 'version'>): Promise<void> => {
  const columns = Object.keys(row) as (keyof typeof row)[]
  const names = sql.join(columns.map((column) => sql.ref(column)))
  const values = sql.join(columns.map((column) => sql`${row[column]}`))
  // The lock is taken before the version is: a version that a reader doesn't see yet is then always under the lock.
  await (dialect === 'postgres'
    ? sql`with locked as materialized (select pg_advisory_xact_lock_shared(${CHANGE_LOCK}::bigint))
        insert into changes (${names}) select ${values} from locked`
    : sql`insert into changes (${names}) values (${values})`
  ).execute(writer)
}

/** JSON of a flat object with its keys in order, so that equal objects are equal texts. */
export const sortedJson = (object: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))))
