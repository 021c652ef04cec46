import type { Static } from 'typebox'
import { checkObservedTime } from '../../model/decide-report.ts'
import { firstDuplicate } from '../../model/first-duplicate.ts'
import type { Report } from '../../model/resource.ts'
import { parseTimestamp, type Timestamp } from '../../model/timestamp.ts'
import { invalidField } from '../../problems/problem.ts'
import { type AdapterReport, ReportMetadata } from '../schemas/report.ts'

const METADATA = Object.keys(ReportMetadata.properties)

/** A report as the rules take it. @throws Problem invalid */
export const readReport = (body: Static<typeof AdapterReport>, time: Timestamp, now: Date): Report => {
  const observed_time = body.observed_time == null ? time : parseTimestamp(body.observed_time)
  if (observed_time === undefined)
    throw invalidField('observed_time', 'must be an RFC 3339 time such as 2026-01-31T12:00:00Z')
  const duplicate = firstDuplicate(body.conditions.map(({ type }) => type))
  if (duplicate !== undefined) throw invalidField('conditions', `must have each type once, ${duplicate} is there twice`)
  const timeError = checkObservedTime({ observed_time }, now)
  if (timeError !== undefined) throw invalidField('observed_time', timeError)
  const metadata = Object.entries(body.metadata ?? {}).filter(
    ([key, value]) => METADATA.includes(key) && value !== null,
  )
  return {
    adapter: body.adapter,
    observed_generation: body.observed_generation,
    observed_time,
    conditions: body.conditions.map(({ type, status, reason, message }) => ({
      type,
      status,
      ...(reason != null && { reason }),
      ...(message != null && { message }),
    })),
    data: body.data ?? {},
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }),
  }
}
