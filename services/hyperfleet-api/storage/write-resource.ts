import type { Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { DialectName, Writer } from './dialect.ts'
import {
  changedConditions,
  changeRow,
  mutableColumns,
  type ResourceWrite,
  removedConditions,
  resourceRow,
  sortedJson,
} from './resource-write.ts'
import { execute } from './sql-text.ts'
import { writeStatement } from './write-statement.ts'

/** Where the steps of a transaction are noted, for callers that want to know of them once it is committed. */
const recordedWrites = new WeakMap<Writer, ResourceWrite[]>()

/** From now on the steps of this transaction are added to the list. */
export const recordWrites = (writer: Writer, steps: ResourceWrite[]): void => {
  recordedWrites.set(writer, steps)
}

/** Writes a step in the caller's transaction. */
export const writeResource = async (
  writer: Writer,
  dialect: DialectName,
  step: ResourceWrite,
  time: Timestamp,
): Promise<void> => {
  recordedWrites.get(writer)?.push(step)
  if (dialect === 'postgres') await execute({ kysely: writer, dialect }, writeStatement(step, time))
  else await writeParts(writer, step, time)
  if (step.type !== 'deleted') await putReferences(writer, step.resource, 'before' in step ? step.before : undefined)
}

/** One part after the other: a statement costs SQLite next to nothing, and it writes one table at a time. */
const writeParts = async (writer: Writer, step: ResourceWrite, time: Timestamp): Promise<void> => {
  const { resource } = step
  switch (step.type) {
    case 'added':
      await writer.insertInto('resources').values(resourceRow(resource)).execute()
      await insertLabels(writer, resource)
      await putConditions(writer, resource, undefined)
      break
    case 'modified':
      await updateResource(writer, step.before, resource)
      break
    case 'deleted':
      await writer.deleteFrom('resources').where('id', '=', resource.id).execute()
      break
  }
  await writer.insertInto('changes').values(changeRow(step, time)).execute()
}

const updateResource = async (writer: Writer, before: Resource, resource: Resource): Promise<void> => {
  await writer.updateTable('resources').set(mutableColumns(resource)).where('id', '=', resource.id).execute()
  if (sortedJson(before.labels ?? {}) !== sortedJson(resource.labels ?? {})) {
    await writer.deleteFrom('resource_labels').where('resource_id', '=', resource.id).execute()
    await insertLabels(writer, resource)
  }
  await putConditions(writer, resource, before)
}

const insertLabels = async (writer: Writer, { id, kind, created_time, labels = {} }: Resource): Promise<void> => {
  const rows = Object.entries(labels).map(([key, value]) => ({ resource_id: id, kind, key, value, created_time }))
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
  const { id: resource_id, kind, created_time } = resource
  const changed = changedConditions(before, resource)
  if (changed.length > 0)
    await writer
      .insertInto('resource_conditions')
      .values(changed.map((condition) => ({ resource_id, kind, created_time, ...condition })))
      .onConflict((conflict) =>
        conflict.columns(['resource_id', 'type']).doUpdateSet((row) => ({
          status: row.ref('excluded.status'),
          observed_generation: row.ref('excluded.observed_generation'),
          last_updated_time: row.ref('excluded.last_updated_time'),
          last_transition_time: row.ref('excluded.last_transition_time'),
        })),
      )
      .execute()
  const gone = removedConditions(before, resource)
  if (gone.length > 0)
    await writer
      .deleteFrom('resource_conditions')
      .where('resource_id', '=', resource_id)
      .where('type', 'in', gone)
      .execute()
}
