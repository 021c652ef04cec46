import { namedAdapters, type RequiredAdapters } from './entity-config.ts'
import type { AdapterStatus } from './resource.ts'

/** How much is kept of what adapters report about one resource, so that all of it can be read at once (API-153). */

/** So many adapters may report about a resource, and the required ones. */
export const MAX_REPORTING_ADAPTERS = 100
/** From so many characters of all reports on, none gets longer. */
const MAX_REPORTS_CHARS = 2 * 1024 * 1024
/** What a resource needs to go on and to go: reports without much data. */
const SMALL_REPORT_CHARS = 16 * 1024

const REMEDY =
  'report less in data, or let an administrator retire adapters that report no more (DELETE …/statuses/{adapter})'

/** The reports of a resource as they are stored. */
export interface StoredReports {
  readonly rows: readonly AdapterStatus[]
  /** Of all rows, as JSON. */
  readonly chars: number
}

/** Why a report is not taken that would be stored as this status, and what to do. Undefined when there is room for it. */
export const findLackOfRoom = (
  status: AdapterStatus,
  { rows, chars }: StoredReports,
  required: RequiredAdapters,
): string | undefined => {
  const stored = rows.find(({ adapter }) => adapter === status.adapter)
  const isExpected = stored !== undefined || namedAdapters(required).includes(status.adapter)
  if (!isExpected && rows.length >= MAX_REPORTING_ADAPTERS)
    return `${rows.length} adapters have reported about this resource, and ${MAX_REPORTING_ADAPTERS} may, besides the required ones: ${REMEDY}`
  if (chars < MAX_REPORTS_CHARS) return undefined
  const length = JSON.stringify(status).length
  if (isExpected && length <= SMALL_REPORT_CHARS) return undefined
  if (stored !== undefined && length <= JSON.stringify(stored).length) return undefined
  return `the reports about this resource have ${chars} characters: from ${MAX_REPORTS_CHARS} on no longer one is taken, except up to ${SMALL_REPORT_CHARS} characters of an adapter that is required or has reported; ${REMEDY}`
}
