import type { Entities } from '../model/entity.ts'
import type { Database } from '../storage/database.ts'
import type { Reader } from '../storage/dialect.ts'
import { findObstacle } from './check-record.ts'
import { decideCopy, type NamedRecord } from './decide-copy.ts'
import { orderRecords } from './order-records.ts'
import type { Source } from './source.ts'
import type { SourceHeader, SourceRecord } from './source-record.ts'
import { findDifferences, readNamed, readState, writeCopy } from './target.ts'
import { translateRecord } from './translate.ts'
import { beginTakeover, endTakeover } from './under-way.ts'

/**
 * Takes over the records of a Go service.
 *
 *   source ─► order ─► for each: what the target has ─► decide ─► translate, write, read back, compare ─► outcome
 *
 * A record with its labels, conditions, references and reports is one transaction, with the note that it was copied: a cut
 * leaves whole records, and a repeat goes on after them; until one comes to its end, no API begins on them.
 */

/** What became of a record. */
export type Outcome =
  /** Written, read back and compared; with a dry run, it would be. */
  | { readonly outcome: 'copied'; readonly reports: number }
  /** Copied by an earlier run, and equal. */
  | { readonly outcome: 'copied before' }
  /** Copied by an earlier run; these tables have it otherwise since. */
  | { readonly outcome: 'changed since'; readonly tables: readonly string[] }
  | { readonly outcome: 'deleted since' }
  | { readonly outcome: 'not copied'; readonly reason: string }

export type RecordOutcome = Outcome & Pick<SourceHeader, 'id' | 'kind' | 'name'>

/** Where records go. */
export type Target =
  | { readonly database: Database; readonly isDryRun: false }
  /** Nothing is written. There is no reader where nothing has been laid out yet. */
  | { readonly reader: Reader | undefined; readonly isDryRun: true }

/** Takes over every record, each owner before what it owns. One that can't be does not keep the others. */
export const takeOver = async function* (
  source: Source,
  target: Target,
  entities: Entities,
): AsyncGenerator<RecordOutcome> {
  const { ordered, circular } = orderRecords(source.headers)
  /** What a dry run would have copied. */
  const planned = new Set<string>()
  if (!target.isDryRun) await target.database.transaction(beginTakeover)
  for (const { id, kind, name } of ordered) {
    const outcome = await takeOverRecord(source, target, entities, id, planned)
    if (outcome.outcome === 'copied') planned.add(id)
    yield { id, kind, name, ...outcome }
  }
  for (const { id, kind, name } of circular)
    yield { id, kind, name, outcome: 'not copied', reason: 'it is in a circle of records that reference each other' }
  if (!target.isDryRun) await target.database.transaction(endTakeover)
}

const takeOverRecord = async (
  source: Source,
  target: Target,
  entities: Entities,
  id: string,
  planned: ReadonlySet<string>,
): Promise<Outcome> => {
  const { record, digest } = await source.read(id)
  const entity = entities.byKind(record.kind)
  const obstacle = findObstacle(record, entity)
  const reader = target.isDryRun ? target.reader : target.database.kysely
  const state = reader === undefined ? NOTHING : await readState(reader, record)
  const named = target.isDryRun
    ? await foreseeNamed(reader, record, planned)
    : await readNamed(target.database.kysely, record)
  const decision = decideCopy(digest, state, named, obstacle)
  if (decision.action === 'refuse') return { outcome: 'not copied', reason: decision.reason }
  if (decision.action === 'leave deleted') return { outcome: 'deleted since' }
  if (entity === undefined || obstacle !== undefined)
    return { outcome: 'not copied', reason: `it was copied before, and can't be compared: ${obstacle}` }
  const translated = translateRecord(record, entity, source.owners.has(id))
  const reports = translated.statuses.length
  if (decision.action === 'copy') {
    if (target.isDryRun) return { outcome: 'copied', reports }
    await target.database.transaction((writer) => writeCopy(writer, target.database, translated, digest))
  }
  const tables = reader === undefined ? [] : await findDifferences(reader, translated)
  if (decision.action === 'compare')
    return tables.length === 0 ? { outcome: 'copied before' } : { outcome: 'changed since', tables }
  return tables.length === 0
    ? { outcome: 'copied', reports }
    : {
        outcome: 'not copied',
        reason: `it was written, and reads otherwise from ${tables.join(', ')}: report this as a bug`,
      }
}

/** Of a target where nothing is. */
const NOTHING = { copiedDigest: undefined, isThere: false, isArchived: false, nameHolder: undefined }

/** What a record names, as it would be when its turn came. */
const foreseeNamed = async (
  reader: Reader | undefined,
  record: SourceRecord,
  planned: ReadonlySet<string>,
): Promise<readonly NamedRecord[]> => {
  const named =
    reader === undefined
      ? [record.owner_id ?? [], record.references.map(({ id }) => id)]
          .flat()
          .map((id): NamedRecord => ({ role: id === record.owner_id ? 'owner' : 'reference', id, state: 'missing' }))
      : await readNamed(reader, record)
  return named.map((each) => (planned.has(each.id) ? { ...each, state: 'here' as const } : each))
}
