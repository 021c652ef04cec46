import type { StoredReports } from '../model/report-room.ts'
import type { AdapterStatus, Report } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { Reader, Writer } from './dialect.ts'
import { type PageRow, shortText } from './page-row.ts'

/** Newest accepted report of each adapter about a resource, by adapter name. */
export const readStatuses = async (reader: Reader, resourceId: string): Promise<readonly AdapterStatus[]> =>
  (await readReports(reader, resourceId)).rows

/** The same, and how long they are. */
export const readReports = async (reader: Reader, resourceId: string): Promise<StoredReports> => {
  const rows = await reader
    .selectFrom('adapter_statuses')
    .select('document')
    .where('resource_id', '=', resourceId)
    .orderBy('adapter')
    .execute()
  return {
    rows: rows.map(({ document }) => JSON.parse(document) as AdapterStatus),
    chars: rows.reduce((sum, { document }) => sum + document.length, 0),
  }
}

/** Whether an adapter has a report about any resource of a kind. */
export const hasReportedOnKind = async (reader: Reader, kind: string, adapter: string): Promise<boolean> => {
  const found = await reader
    .selectFrom('adapter_statuses')
    .innerJoin('resources', 'resources.id', 'adapter_statuses.resource_id')
    .select('adapter_statuses.adapter')
    .where('resources.kind', '=', kind)
    .where('adapter_statuses.adapter', '=', adapter)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

export const putStatus = async (writer: Writer, resourceId: string, status: AdapterStatus): Promise<void> => {
  const document = JSON.stringify(status)
  await writer
    .insertInto('adapter_statuses')
    .values({ resource_id: resourceId, adapter: status.adapter, document })
    .onConflict((conflict) => conflict.columns(['resource_id', 'adapter']).doUpdateSet({ document }))
    .execute()
}

export const removeStatus = async (writer: Writer, resourceId: string, adapter: string): Promise<void> => {
  await writer
    .deleteFrom('adapter_statuses')
    .where('resource_id', '=', resourceId)
    .where('adapter', '=', adapter)
    .execute()
}

/** How many unaggregated reports are kept of one resource. */
const MAX_LOGGED_REPORTS = 100

/** Notes a report that was not aggregated, and forgets the oldest beyond the bound. */
export const logReport = async (
  writer: Reader,
  resourceId: string,
  { report, reason, time }: { readonly report: Report; readonly reason: string; readonly time: Timestamp },
): Promise<void> => {
  await writer
    .insertInto('status_log')
    .values({
      resource_id: resourceId,
      adapter: report.adapter,
      received_time: time,
      reason,
      report: JSON.stringify(report),
    })
    .execute()
  await writer
    .deleteFrom('status_log')
    .where('resource_id', '=', resourceId)
    .where('id', '<=', (builder) =>
      builder
        .selectFrom('status_log as newer')
        .select('newer.id')
        .where('newer.resource_id', '=', resourceId)
        .orderBy('newer.id', 'desc')
        .offset(MAX_LOGGED_REPORTS)
        .limit(1),
    )
    .execute()
}

/** A report of the log. */
export interface LoggedReport {
  readonly received_time: Timestamp
  /** Why it was not aggregated. */
  readonly reason: string
  readonly report: Report
}

/** A page of the reports about a resource that were not aggregated, newest first, and how many there are. */
export const readHistory = async (
  reader: Reader,
  resourceId: string,
  { offset, size }: { readonly offset: number; readonly size: number },
): Promise<{ readonly rows: readonly LoggedRow[]; readonly total: number }> => {
  const log = reader.selectFrom('status_log').where('resource_id', '=', resourceId)
  const rows = await log
    .select(['id as key', 'received_time', 'reason', ...shortText('report', size)])
    .orderBy('id', 'desc')
    .offset(offset)
    .limit(size)
    .execute()
  const { total } = await log.select(({ fn }) => fn.countAll().as('total')).executeTakeFirstOrThrow()
  return { rows, total: Number(total) }
}

/** A row of the log; its document is the report. */
export type LoggedRow = PageRow<number> & Omit<LoggedReport, 'report'>

/** What is still there of logged reports, by the key of their row. */
export const readLoggedReports = async (
  reader: Reader,
  keys: readonly number[],
): Promise<ReadonlyMap<number, string>> => {
  const rows = await reader.selectFrom('status_log').select(['id', 'report']).where('id', 'in', keys).execute()
  return new Map(rows.map(({ id, report }) => [id, report]))
}
