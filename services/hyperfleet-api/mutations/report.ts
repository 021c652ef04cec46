import { applyReport, type DiscardReason, judgeReport } from '../model/report.ts'
import type { AdapterStatus, Report, Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { Writer } from '../storage/database.ts'
import { type Address, hasChildren, lockResource } from '../storage/resources.ts'
import { logReport, putStatus, readStatuses } from '../storage/statuses.ts'
import { writeStep } from '../storage/write.ts'
import type { Mutations } from './context.ts'
import { isRemovable, lockAncestors, reconditioned, removeUpward } from './tree.ts'

/** What became of a report. */
export type ReportOutcome =
  | { readonly outcome: 'stored'; readonly status: AdapterStatus }
  | { readonly outcome: 'discarded'; readonly reason: DiscardReason }

/** Takes an adapter's report about a resource, and all that follows from it, in one transaction. @throws Problem */
export const reportStatus = async (
  mutations: Mutations,
  address: Address,
  report: Report,
  time: Timestamp,
): Promise<ReportOutcome> => {
  const { database, committed } = mutations
  const outcome = await database.transaction(async (writer) => {
    if (await isInDeletion(writer, address)) await lockAncestors(writer, mutations, address)
    const before = await lockResource(writer, database, address)
    const rows = await readStatuses(writer, before.id)
    const stored = rows.find(({ adapter }) => adapter === report.adapter)
    const verdict = judgeReport(report, before, stored)
    switch (verdict.decision) {
      case 'refuse':
        throw new Problem('invalid', verdict.message, [{ field: 'conditions', message: verdict.message }])
      case 'discard':
        if (verdict.reason === 'AvailableUnknown')
          await logReport(writer, before.id, { report, reason: verdict.reason, time })
        return { outcome: 'discarded', reason: verdict.reason } as const
      case 'repeat':
        return { outcome: 'stored', status: stored ?? applyReport(report, stored) } as const
      case 'store': {
        const status = applyReport(report, stored)
        await putStatus(writer, before.id, status)
        if (!verdict.aggregate) await logReport(writer, before.id, { report, reason: 'AvailableUnknown', time })
        const rowsAfter = [...rows.filter((row) => row !== stored), status]
        await follow(writer, mutations, address, before, rowsAfter, verdict.aggregate ? report : undefined, time)
        return { outcome: 'stored', status } as const
      }
    }
  })
  committed()
  return outcome
}

/** Brings the resource in line with its rows; a record whose gate the report opened goes. */
const follow = async (
  writer: Writer,
  mutations: Mutations,
  { entity }: Address,
  before: Resource,
  rows: readonly AdapterStatus[],
  aggregated: Report | undefined,
  time: Timestamp,
): Promise<void> => {
  const { dialect } = mutations.database
  const isDeleting = before.deleted_time !== undefined
  // An unaggregated report moves no condition and no time, but while deleting it may be the one that was awaited.
  if (aggregated === undefined && !isDeleting) return
  const children = isDeleting && (await hasChildren(writer, before.id))
  const resource = reconditioned(entity, before, rows, children, newest(before, aggregated))
  if (isRemovable(entity, resource, rows, children)) await removeUpward(writer, mutations, resource, time)
  else await writeStep(writer, dialect, { type: 'modified', before, resource }, time)
}

const newest = ({ status }: Resource, report: Report | undefined): Timestamp | undefined =>
  report === undefined || (status.lastTransitionTime ?? '') > report.observed_time
    ? status.lastTransitionTime
    : report.observed_time

const isInDeletion = async (writer: Writer, { entity, id }: Address): Promise<boolean> => {
  if (entity.parent === undefined) return false
  const row = await writer.selectFrom('resources').select('deleted_time').where('id', '=', id).executeTakeFirst()
  return row !== undefined && row.deleted_time !== null
}
