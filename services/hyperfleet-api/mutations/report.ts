import { isDeepStrictEqual } from 'node:util'
import {
  applyReport,
  type DiscardReason,
  decideReport,
  isInProgress,
  type ReportDecision,
} from '../model/decide-report.ts'
import { applyInterimReport } from '../model/interim-report.ts'
import { findLackOfRoom, type StoredReports } from '../model/report-room.ts'
import type { AdapterStatus, Report, Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { Database } from '../storage/database.ts'
import type { Writer } from '../storage/dialect.ts'
import { readWithStatuses, writeInterimReport, writeReport } from '../storage/optimistic-report.ts'
import { type Address, touchResource } from '../storage/resources.ts'
import { logReport, putStatus, readReports } from '../storage/statuses.ts'
import { applyTransition, lockForReports } from './apply-transition.ts'
import type { MutationContext, Precondition } from './context.ts'
import { noWaits, recomputeStatus } from './deletion-tree.ts'

/** What became of a report. */
export type ReportOutcome =
  | { readonly outcome: 'stored'; readonly status: AdapterStatus }
  /** It repeats what is stored. */
  | { readonly outcome: 'unchanged'; readonly status: AdapterStatus }
  | { readonly outcome: 'discarded'; readonly reason: DiscardReason }

/** A report to decide about, and when it came. */
interface IncomingReport {
  readonly address: Address
  readonly report: Report
  readonly time: Timestamp
  /** Of all the reports that are stored of the resource. */
  readonly precondition?: Precondition<readonly AdapterStatus[]> | undefined
}

/**
 * Takes an adapter's report about a resource, and all that follows from it: all or nothing. @throws Problem
 *
 * Most reports are about a resource that no other caller is writing. PostgreSQL takes such a one in two statements: read,
 * decide, and write if nothing has changed since. What is not so plain (a deletion, a first Unknown, another writer in
 * between) is decided under locks, as everything is on SQLite.
 */
export const reportStatus = async (mutations: MutationContext, incoming: IncomingReport): Promise<ReportOutcome> => {
  const { database, notifyCommitted } = mutations
  const result =
    (database.dialect === 'postgres' && incoming.precondition === undefined
      ? await reportOptimistically(database, incoming)
      : undefined) ?? (await database.transaction((writer) => reportLocked(writer, mutations, incoming)))
  if (result.outcome === 'stored') notifyCommitted()
  return result
}

/** Undefined when it takes locks. */
const reportOptimistically = async (
  database: Database,
  incoming: IncomingReport,
): Promise<ReportOutcome | undefined> => {
  const { address, report, time } = incoming
  const { resource: before, reports, version } = await readWithStatuses(database.kysely, address)
  const { rows } = reports
  const decided = decideOutcome(incoming, before, rows)
  if (!('outcome' in decided)) {
    const status = applyInterimReport(report, decided.stored)
    requireRoom(status, reports, address)
    if (!(await writeInterimReport(database.kysely, { id: before.id, version, status }))) return undefined
    await logReport(database.kysely, before.id, { report, reason: 'AvailableUnknown', time })
    return { outcome: 'discarded', reason: 'AvailableUnknown' }
  }
  if (decided.outcome !== 'stored') return decided
  if (isInProgress(report) || before.deleted_time !== undefined) return undefined
  const { status } = decided
  requireRoom(status, reports, address)
  const after = recomputeStatus(
    address.entity,
    before,
    noWaits(replaceRow(rows, status)),
    newestReportTime(before, report),
  )
  if (isDeepStrictEqual(before, after)) return undefined
  if (!(await writeReport(database.kysely, { before, after, version, status, time }))) return undefined
  database.notifyCommitted([{ type: 'modified', before, resource: after }])
  return decided
}

const reportLocked = async (
  writer: Writer,
  mutations: MutationContext,
  incoming: IncomingReport,
): Promise<ReportOutcome> => {
  const { address, report, time } = incoming
  const before = await lockForReports(writer, mutations, address)
  const reports = await readReports(writer, before.id)
  const { rows } = reports
  incoming.precondition?.(rows)
  const decided = decideOutcome(incoming, before, rows)
  if (!('outcome' in decided)) {
    const status = applyInterimReport(report, decided.stored)
    requireRoom(status, reports, address)
    return keepInterim(writer, before.id, status, incoming)
  }
  if (decided.outcome !== 'stored') return decided
  const { status } = decided
  requireRoom(status, reports, address)
  await putStatus(writer, before.id, status)
  if (isInProgress(report)) await logReport(writer, before.id, { report, reason: 'AvailableUnknown', time })
  await applyTransition(writer, mutations, {
    entity: address.entity,
    before,
    rows: replaceRow(rows, status),
    lastTransitionTime: newestReportTime(before, report),
    time,
  })
  return decided
}

/** Health, data and time of a report that is not aggregated show (API-48); conditions and times of the resource stay. */
const keepInterim = async (
  writer: Writer,
  id: string,
  status: AdapterStatus,
  { report, time }: IncomingReport,
): Promise<ReportOutcome> => {
  await putStatus(writer, id, status)
  await logReport(writer, id, { report, reason: 'AvailableUnknown', time })
  await touchResource(writer, id)
  return { outcome: 'discarded', reason: 'AvailableUnknown' }
}

/** @throws Problem reportsTooLarge */
const requireRoom = (status: AdapterStatus, reports: StoredReports, { entity }: Address): void => {
  const lack = findLackOfRoom(status, reports, entity.requiredAdapters)
  if (lack !== undefined) throw new Problem('reportsTooLarge', lack)
}

/** What is to become of a report. @throws Problem invalid */
const decideOutcome = (
  { report }: IncomingReport,
  resource: Resource,
  rows: readonly AdapterStatus[],
): ReportOutcome | Extract<ReportDecision, { decision: 'interim' }> => {
  const stored = rows.find(({ adapter }) => adapter === report.adapter)
  const verdict = decideReport(report, resource, stored)
  switch (verdict.decision) {
    case 'refuse':
      throw new Problem('invalid', verdict.message, [{ field: 'conditions', message: verdict.message }])
    case 'discard':
      return { outcome: 'discarded', reason: verdict.reason }
    case 'interim':
      return verdict
    case 'repeat':
      return { outcome: 'unchanged', status: verdict.stored }
    case 'store':
      return { outcome: 'stored', status: applyReport(report, stored) }
  }
}

const replaceRow = (rows: readonly AdapterStatus[], status: AdapterStatus): AdapterStatus[] => [
  ...rows.filter(({ adapter }) => adapter !== status.adapter),
  status,
]

/** `status.lastTransitionTime` after a report. Unknown moves no time. */
const newestReportTime = ({ status }: Resource, report: Report): Timestamp | undefined =>
  isInProgress(report) || (status.lastTransitionTime ?? '') > report.observed_time
    ? status.lastTransitionTime
    : report.observed_time
