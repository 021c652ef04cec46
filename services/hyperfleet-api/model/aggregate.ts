import type { RequiredAdapters } from './entity.ts'
import { awaitedAdapters } from './gate.ts'
import { type AdapterStatus, type Condition, type Resource, type ResourceStatus, reported } from './resource.ts'
import type { Timestamp } from './timestamp.ts'

/**
 * From adapter reports to a resource's conditions. Seed: pulses-and-status, API behaviour.
 *
 * - `Available`: it runs, at some generation; the last known good configuration. `LastKnownReconciled` is the same
 *   condition under the peer's name.
 * - `Ready`: it runs at the current generation. `Reconciled` under the peer's name.
 * - `<Adapter>Successful`: what each required adapter said last.
 *
 * The clock is never read: times come from the reports and from the resource's last update, so the same input
 * always gives the same conditions.
 */
export interface Situation {
  readonly resource: Pick<Resource, 'generation' | 'updated_time' | 'deleted_time'>
  readonly rows: readonly AdapterStatus[]
  readonly required: RequiredAdapters
  readonly previous: readonly Condition[]
  /** Whether child records are left, those in deletion included. */
  readonly hasChildren: boolean
}

/** A row that says True or False about a generation that the resource has reached. */
interface Usable {
  readonly row: AdapterStatus
  readonly available: 'True' | 'False'
}

/** A condition before it is compared with the previous one. */
type Verdict = Pick<Condition, 'status' | 'observed_generation' | 'last_updated_time'> & {
  readonly reason: string
  readonly message: string
}

/** The conditions of a resource. A kind that requires no adapter has none: nothing reconciles it. */
export const aggregate = (situation: Situation): Condition[] => {
  const { resource, rows, previous } = situation
  if (situation.required.length === 0) return []
  const required = situation.required === 'reporting' ? rows.map((row) => row.adapter) : situation.required
  const usable = usableRows(rows, required, resource.generation)
  const before = new Map(previous.map((condition) => [condition.type, condition]))
  const ready = readyVerdict(situation, required, usable)
  const available = availableVerdict(resource, required, usable, before.get('Available'))
  return [
    condition('Available', available, before, resource.updated_time),
    condition('Ready', ready, before, resource.updated_time),
    condition('LastKnownReconciled', available, before, resource.updated_time),
    condition('Reconciled', ready, before, resource.updated_time),
    ...required.toSorted().flatMap((adapter) => adapterCondition(adapter, usable.get(adapter), before, resource)),
  ]
}

/** `status` as sent: conditions, and the two fields that the seed's Sentinel reads. */
export const statusOf = (
  resource: Pick<Resource, 'deleted_time'>,
  conditions: readonly Condition[],
  lastTransitionTime: Timestamp | undefined,
): ResourceStatus => {
  const ready = conditions.find(({ type }) => type === 'Ready')
  return {
    phase:
      resource.deleted_time !== undefined ? 'Deleting' : (ready?.status ?? 'True') === 'True' ? 'Ready' : 'NotReady',
    ...(lastTransitionTime !== undefined && { lastTransitionTime }),
    conditions,
  }
}

const usableRows = (
  rows: readonly AdapterStatus[],
  required: readonly string[],
  generation: number,
): ReadonlyMap<string, Usable> => {
  const usable = new Map<string, Usable>()
  for (const row of rows) {
    const available = reported(row.conditions, 'Available')
    if (!required.includes(row.adapter) || row.observed_generation > generation) continue
    if (available === 'True' || available === 'False') usable.set(row.adapter, { row, available })
  }
  return usable
}

const readyVerdict = (
  situation: Situation,
  required: readonly string[],
  usable: ReadonlyMap<string, Usable>,
): Verdict => {
  const { generation, deleted_time, updated_time } = situation.resource
  const current = [...usable.values()].filter(({ row }) => row.observed_generation === generation)
  const verdict = { observed_generation: generation, last_updated_time: oldest(current) ?? updated_time }
  if (deleted_time !== undefined)
    return { ...verdict, status: 'False', reason: 'Deleting', message: waitingFor(situation) }
  const reporting = current.filter(({ available }) => available === 'True').map(({ row }) => row.adapter)
  const missing = required.filter((adapter) => !reporting.includes(adapter))
  if (required.length === 0)
    return { ...verdict, status: 'False', reason: 'ReconciledMissingAdapters', message: 'No adapter has reported yet' }
  if (missing.length === 0)
    return {
      ...verdict,
      status: 'True',
      reason: 'ReconciledAll',
      message: 'All required adapters reported Available=True or Finalized=True at the current generation',
    }
  return {
    ...verdict,
    status: 'False',
    reason: 'ReconciledMissingAdapters',
    message: `Required adapters not reporting Available=True: ${names(missing)}. Currently reporting: ${names(reporting)}`,
  }
}

const waitingFor = ({ resource, rows, required, hasChildren }: Situation): string => {
  const awaited = awaitedAdapters(resource, rows, required)
  const parts = [
    ...(awaited.length > 0 ? [`adapters ${names(awaited)} to report their clean-up`] : []),
    ...(hasChildren ? ['child resources to be removed'] : []),
  ]
  return parts.length === 0 ? 'Deletion in progress' : `Deletion in progress, waiting for ${parts.join(' and ')}`
}

/**
 * True only when all required adapters say so of one same generation; False only when one says so of the generation
 * that the condition speaks of. Everything else leaves it as it was.
 */
const availableVerdict = (
  resource: Situation['resource'],
  required: readonly string[],
  usable: ReadonlyMap<string, Usable>,
  previous: Condition | undefined,
): Verdict => {
  const all = [...usable.values()]
  const complete = required.length > 0 && required.every((adapter) => usable.has(adapter))
  const generation = all[0]?.row.observed_generation
  if (
    complete &&
    generation !== undefined &&
    all.every(({ row, available }) => available === 'True' && row.observed_generation === generation)
  )
    return {
      status: 'True',
      observed_generation: generation,
      last_updated_time: oldest(all) ?? resource.updated_time,
      reason: 'AllAdaptersReconciled',
      message: 'All required adapters reported Available=True for the tracked generation',
    }
  const tracked = previous?.observed_generation ?? resource.generation
  const failing = all.filter(({ available }) => available === 'False')
  const failingTracked = failing.filter(({ row }) => row.observed_generation === tracked)
  if (failingTracked.length > 0)
    return {
      status: 'False',
      observed_generation: tracked,
      last_updated_time: oldest(failingTracked) ?? resource.updated_time,
      reason: 'AdapterReportedNotAvailable',
      message: `Required adapters reporting Available=False: ${names(adaptersOf(failingTracked))}`,
    }
  if (previous?.status === 'True') return { reason: '', message: '', ...previous }
  return {
    status: 'False',
    observed_generation: tracked,
    last_updated_time: previous?.last_updated_time ?? resource.updated_time,
    ...stillFalse(complete, adaptersOf(failing)),
  }
}

const stillFalse = (complete: boolean, failing: readonly string[]): Pick<Verdict, 'reason' | 'message'> => {
  if (!complete) return { reason: 'AdaptersMissingReports', message: 'Required adapters have not yet reported status' }
  if (failing.length > 0)
    return {
      reason: 'AdapterReportedNotAvailable',
      message: `Required adapters reporting Available=False: ${names(failing)}`,
    }
  return {
    reason: 'AdaptersNotAtSameGeneration',
    message: 'Required adapters have not all reported Available=True at one generation',
  }
}

/** An adapter without a usable row keeps the condition it had: Unknown moves nothing. */
const adapterCondition = (
  adapter: string,
  usable: Usable | undefined,
  before: ReadonlyMap<string, Condition>,
  resource: Situation['resource'],
): readonly Condition[] => {
  const type = `${adapter.split('-').map(capitalized).join('')}Successful`
  const previous = before.get(type)
  if (usable === undefined) return previous === undefined ? [] : [previous]
  const { row, available } = usable
  const source = row.conditions.find((condition) => condition.type === 'Available')
  return [
    {
      type,
      status: available,
      ...(source?.reason !== undefined && { reason: source.reason }),
      ...(source?.message !== undefined && { message: source.message }),
      observed_generation: row.observed_generation,
      created_time: previous?.created_time ?? resource.updated_time,
      last_updated_time: row.last_report_time,
      last_transition_time: previous?.status === available ? previous.last_transition_time : row.last_report_time,
    },
  ]
}

const condition = (
  type: string,
  { status, reason, message, observed_generation, last_updated_time }: Verdict,
  before: ReadonlyMap<string, Condition>,
  updatedTime: Timestamp,
): Condition => {
  const previous = before.get(type)
  return {
    type,
    status,
    reason,
    message,
    observed_generation,
    created_time: previous?.created_time ?? updatedTime,
    last_updated_time,
    last_transition_time: transitionTime({ status, observed_generation, last_updated_time }, previous, updatedTime),
  }
}

/** Since when the status is what it is; a spec change that takes it away did so when the resource was updated. */
const transitionTime = (
  {
    status,
    observed_generation,
    last_updated_time,
  }: Pick<Verdict, 'status' | 'observed_generation' | 'last_updated_time'>,
  previous: Condition | undefined,
  updatedTime: Timestamp,
): Timestamp => {
  if (previous?.status === status) return previous.last_transition_time
  const bySpecChange =
    status === 'False' && previous !== undefined && observed_generation > previous.observed_generation
  return bySpecChange ? updatedTime : last_updated_time
}

const oldest = (rows: readonly Usable[]): Timestamp | undefined =>
  rows
    .map(({ row }) => row.last_report_time)
    .reduce<Timestamp | undefined>(
      (earliest, time) => (earliest === undefined || time < earliest ? time : earliest),
      undefined,
    )

const adaptersOf = (rows: readonly Usable[]): string[] => rows.map(({ row }) => row.adapter)

const names = (adapters: readonly string[]): string => `[${adapters.toSorted().join(', ')}]`

const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1)
