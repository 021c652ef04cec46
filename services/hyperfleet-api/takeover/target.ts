import { isDeepStrictEqual } from 'node:util'
import { type Timestamp, timestampOf } from '../model/timestamp.ts'
import type { Database } from '../storage/database.ts'
import type { Reader, Writer } from '../storage/dialect.ts'
import { changedConditions, resourceRow, sortedJson } from '../storage/resource-write.ts'
import { putStatus } from '../storage/statuses.ts'
import { writeResource } from '../storage/write-resource.ts'
import { isObject } from './check-record.ts'
import type { NamedRecord, TargetState } from './decide-copy.ts'
import type { SourceRecord } from './source-record.ts'
import type { TranslatedRecord } from './translate.ts'

/** What the target has of a record, and of what has its name. */
export const readState = async (reader: Reader, record: SourceRecord): Promise<TargetState> => {
  const { id, kind, name, owner_id, tenancy, deleted_time } = record
  const copied = await reader.selectFrom('takeovers').select('digest').where('id', '=', id).executeTakeFirst()
  const there = await reader.selectFrom('resources').select('id').where('id', '=', id).executeTakeFirst()
  const archived = await reader.selectFrom('archive').select('id').where('id', '=', id).executeTakeFirst()
  // One in deletion needs no name.
  const holder =
    deleted_time !== null
      ? undefined
      : await reader
          .selectFrom('resources')
          .select('id')
          .where('kind', '=', kind)
          .where('name', '=', name)
          .where('tenancy', '=', isObject(tenancy) ? sortedJson(tenancy as Readonly<Record<string, string>>) : '')
          .where('owner_id', owner_id === null ? 'is' : '=', owner_id)
          .where('deleted_time', 'is', null)
          .where('id', '<>', id)
          .executeTakeFirst()
  return {
    copiedDigest: copied?.digest,
    isThere: there !== undefined,
    isArchived: archived !== undefined,
    nameHolder: holder?.id,
  }
}

/** Its owner and what it references, as the target has them. */
export const readNamed = async (
  reader: Reader,
  { owner_id, references, deleted_time }: SourceRecord,
): Promise<NamedRecord[]> => {
  const named = [
    ...(owner_id === null ? [] : [{ role: 'owner' as const, id: owner_id }]),
    ...references.map(({ id }) => ({ role: 'reference' as const, id })),
  ]
  const states: NamedRecord[] = []
  for (const { role, id } of named) {
    const row = await reader.selectFrom('resources').select('deleted_time').where('id', '=', id).executeTakeFirst()
    const isDeleting = row !== undefined && row.deleted_time !== null && deleted_time === null
    states.push({ role, id, state: row === undefined ? 'missing' : isDeleting ? 'deleting' : 'here' })
  }
  return states
}

/** Writes a record, its reports and that it was copied, in the caller's transaction. */
export const writeCopy = async (
  writer: Writer,
  { dialect }: Pick<Database, 'dialect'>,
  { resource, statuses }: TranslatedRecord,
  digest: string,
): Promise<void> => {
  const time: Timestamp = timestampOf(new Date())
  await writeResource(writer, dialect, { type: 'added', resource }, time)
  for (const status of statuses) await putStatus(writer, resource.id, status)
  await writer.insertInto('takeovers').values({ id: resource.id, digest, time }).execute()
}

/** Rows of one table, as they are and as they should be; in any order. */
interface Rows {
  readonly stored: readonly object[]
  readonly expected: readonly object[]
}

/** Reads a record back from every table, and names the tables in which it is not what it should be (API-133). */
export const findDifferences = async (reader: Reader, translated: TranslatedRecord): Promise<readonly string[]> => {
  const rows = await readBack(reader, translated)
  return Object.keys(rows).filter((table) => {
    const { stored = [], expected = [] } = rows[table] ?? {}
    return !isDeepStrictEqual(stored.map(sortedText).sort(), expected.map(sortedText).sort())
  })
}

const readBack = async (
  reader: Reader,
  { resource, statuses }: TranslatedRecord,
): Promise<Readonly<Record<string, Rows>>> => {
  const { id, kind, created_time, labels = {}, references = {}, spec } = resource
  const select = (
    table: 'resource_labels' | 'resource_conditions' | 'resource_specs' | 'adapter_statuses',
  ): Promise<object[]> =>
    // Their columns differ, but for this one.
    reader
      .selectFrom(table as 'adapter_statuses')
      .selectAll()
      .where('resource_id', '=', id)
      .execute()
  const shared = { resource_id: id, kind, created_time }
  const specs = (await select('resource_specs')) as { spec: unknown }[]
  const resources = await reader.selectFrom('resources').selectAll().where('id', '=', id).execute()
  return {
    resources: {
      stored: resources.map(({ event_count: _count, ...columns }) => columns),
      expected: [resourceRow(resource)],
    },
    resource_labels: {
      stored: await select('resource_labels'),
      expected: Object.entries(labels).map(([key, value]) => ({ ...shared, key, value })),
    },
    resource_conditions: {
      stored: await select('resource_conditions'),
      expected: changedConditions(undefined, resource).map((condition) => ({ ...shared, ...condition })),
    },
    resource_references: {
      stored: await reader.selectFrom('resource_references').selectAll().where('source_id', '=', id).execute(),
      expected: Object.entries(references).flatMap(([ref_type, targets]) =>
        targets.map((target) => ({ source_id: id, ref_type, target_id: target.id })),
      ),
    },
    resource_specs: {
      stored: specs.map((row) => ({ spec: typeof row.spec === 'string' ? JSON.parse(row.spec) : row.spec })),
      expected: [{ spec }],
    },
    adapter_statuses: {
      stored: await select('adapter_statuses'),
      expected: statuses.map((status) => ({
        resource_id: id,
        adapter: status.adapter,
        document: JSON.stringify(status),
      })),
    },
  }
}

/** JSON with the keys of every object in order: jsonb keeps no order. */
const sortedText = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  )
