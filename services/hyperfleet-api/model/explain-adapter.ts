import { asCleanupReport, awaitedAdapters, hasCleanedUp } from './deletion-gate.ts'
import { namedAdapters, type RequiredAdapters } from './entity-config.ts'
import { type ShownStatus, showStatus } from './interim-report.ts'
import { isReleased } from './release.ts'
import { type AdapterStatus, type Resource, reportedStatus } from './resource.ts'

/**
 * Where each adapter of a resource stands, and in a sentence why (API-53):
 * `Missing` never reported, `Outdated` of an older generation, `Working` said only Unknown, `Failing` said False, `Agreeing`
 * said True of the current generation, `Released` let the resource go; in deletion `Awaited` or `CleanedUp`.
 */
export type AdapterState =
  | 'Missing'
  | 'Outdated'
  | 'Working'
  | 'Failing'
  | 'Agreeing'
  | 'Released'
  | 'Awaited'
  | 'CleanedUp'

export interface AdapterExplanation {
  readonly adapter: string
  /** Whether the configuration names it for every resource of the kind. */
  readonly required: boolean
  /** Whether readiness or deletion waits for it. */
  readonly awaited: boolean
  readonly state: AdapterState
  readonly why: string
  /** Its last report; absent when there is none. */
  readonly status?: ShownStatus
}

/** Every adapter that is required or has reported, by name. */
export const explainAdapters = (
  resource: Pick<Resource, 'generation' | 'deleted_time' | 'labels'>,
  rows: readonly AdapterStatus[],
  required: RequiredAdapters,
): AdapterExplanation[] => {
  const named = namedAdapters(required)
  const awaited = resource.deleted_time === undefined ? undefined : awaitedAdapters(resource, rows, required)
  return [...new Set([...named, ...rows.map(({ adapter }) => adapter)])].sort().map((adapter) => {
    const row = rows.find((one) => one.adapter === adapter)
    const isRequired = named.includes(adapter)
    const verdict = awaited === undefined ? judgeLiving(resource, row) : judgeDeleting(resource, row)
    const counts = typeof required === 'string' || isRequired
    return {
      adapter,
      required: isRequired,
      awaited: awaited?.includes(adapter) ?? (counts && !['Agreeing', 'Released'].includes(verdict.state)),
      ...verdict,
      ...(row !== undefined && { status: showStatus(row) }),
    }
  })
}

type Verdict = Pick<AdapterExplanation, 'state' | 'why'>

const RELEASED: Verdict = { state: 'Released', why: 'its task does not select the resource, and nothing of it is left' }
const MISSING: Verdict = { state: 'Missing', why: 'it has never reported' }

const judgeLiving = (resource: Pick<Resource, 'generation' | 'labels'>, row: AdapterStatus | undefined): Verdict => {
  if (row === undefined) return MISSING
  if (isReleased(row, resource)) return RELEASED
  const available = reportedStatus(row.conditions, 'Available')
  if (available === 'Unknown') return { state: 'Working', why: `it has only said that it is at work${healthOf(row)}` }
  if (row.observed_generation < resource.generation)
    return { state: 'Outdated', why: `${describeGenerations(resource, row)}${healthOf(row)}` }
  return available === 'True'
    ? { state: 'Agreeing', why: `it says Available=True of generation ${resource.generation}${healthOf(row)}` }
    : { state: 'Failing', why: `it says Available=False${detailOf(row, 'Available')}${healthOf(row)}` }
}

const judgeDeleting = (
  resource: Pick<Resource, 'generation' | 'deleted_time' | 'labels'>,
  row: AdapterStatus | undefined,
): Verdict => {
  if (row === undefined) return { state: 'Awaited', why: MISSING.why }
  if (hasCleanedUp(resource, asCleanupReport(row)))
    return { state: 'CleanedUp', why: 'it says that nothing is left of what it made' }
  if (isReleased(row, resource)) return RELEASED
  return { state: 'Awaited', why: explainAwaited(resource, row) }
}

const explainAwaited = (resource: Pick<Resource, 'generation' | 'deleted_time'>, row: AdapterStatus): string => {
  if (row.observed_generation !== resource.generation) return `${describeGenerations(resource, row)}${healthOf(row)}`
  if (reportedStatus(row.conditions, 'Applied') !== 'False')
    return `it says that something is left${detailOf(row, 'Applied')}${healthOf(row)}`
  if (reportedStatus(row.conditions, 'Health') !== 'True') return `it has not confirmed its clean-up${healthOf(row)}`
  return 'its clean-up was observed before the deletion was asked for'
}

const describeGenerations = ({ generation }: Pick<Resource, 'generation'>, row: AdapterStatus): string =>
  `its last report is of generation ${row.observed_generation}, not of ${generation}`

/** `: Reason: message` of a condition of the stored report, as far as it has them. */
const detailOf = ({ conditions }: Pick<AdapterStatus, 'conditions'>, type: string): string => {
  const { reason, message } = conditions.find((condition) => condition.type === type) ?? {}
  return [reason, message].flatMap((text) => (text === undefined || text === '' ? [] : [`: ${text}`])).join('')
}

/** What its newest report says of its health, when that is not good. */
const healthOf = (row: AdapterStatus): string => {
  const { conditions } = showStatus(row) as Pick<AdapterStatus, 'conditions'>
  return reportedStatus(conditions, 'Health') === 'True'
    ? ''
    : `; it is not healthy${detailOf({ conditions }, 'Health')}`
}
