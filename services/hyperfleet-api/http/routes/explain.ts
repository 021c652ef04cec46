import Type from 'typebox'
import { type LastPulse, readLastPulse, readQueuePositions } from '../../events/queue-position.ts'
import { type AdapterExplanation, explainAdapters } from '../../model/explain-adapter.ts'
import type { Report, Resource } from '../../model/resource.ts'
import type { Timestamp } from '../../model/timestamp.ts'
import type { Reader } from '../../storage/dialect.ts'
import { type ChildSummary, parseDocument, readChildSummaries, readDocument } from '../../storage/resources.ts'
import { readHistory, readStatuses } from '../../storage/statuses.ts'
import { type Operation, operation } from '../operation.ts'
import type { Service } from '../service.ts'
import { type Collection, itemOf, readAddress } from './collection.ts'

const MAX_DISCARDED = 20
const MAX_CHILDREN = 100

/** Why a resource is as it is (API-53): what it waits for, what each adapter said, what is on its way. */
export const explainOperations = (service: Service, place: Collection): Operation[] => {
  const { path, parameters } = itemOf(place)
  return [
    operation({
      method: 'GET',
      path: `${path}/explain`,
      parameters,
      id: `explain${place.suffix}`,
      summary: `Says what a ${place.entity.kind} waits for, and why`,
      tag: place.entity.kind,
      role: 'reader',
      tenants: true,
      responses: { 200: { description: 'The explanation', schema: Type.Ref('Explanation') } },
      handle: async (call) => {
        const { kysely } = service.database
        const address = readAddress(place, call)
        const resource = parseDocument(await readDocument(kysely, address))
        const { id, kind, name, href, generation, deleted_time, status } = resource
        const explained = explainAdapters(resource, await readStatuses(kysely, id), place.entity.requiredAdapters)
        // Whether others' resources have reports is no concern of a tenant.
        const adapters =
          call.tenancy === undefined
            ? await Promise.all(explained.map((one) => explainSilence(service, kind, one)))
            : explained
        const children =
          place.entity.children.length === 0 ? [] : await readChildSummaries(service.database, id, MAX_CHILDREN)
        const groups = status.awaited_groups ?? []
        const isUndecided = place.entity.requiredAdapters === 'undecided'
        const last = await readLastPulse(kysely, id)
        const discarded = await readDiscarded(kysely, id)
        // How many events come before is how many others have, which is no concern of a tenant (API-181).
        const queue = await readQueuePositions(kysely, id, service.sharedTime, call.tenancy === undefined)
        return {
          status: 200,
          body: {
            id,
            kind,
            name,
            href,
            generation,
            phase: status.phase,
            ...(deleted_time !== undefined && { deleted_time }),
            waits_for: describeWaits(resource, isUndecided, adapters, groups, children),
            adapters,
            discarded,
            remaining: deleted_time === undefined ? [] : adapters.flatMap(listRemaining),
            children: children,
            groups,
            pulses: describePulses(last),
            queue,
          },
        }
      },
    }),
  ]
}

/** A required adapter that no resource of the kind ever heard of has no task, more likely than not. */
const explainSilence = async (
  { reporters, database }: Pick<Service, 'reporters' | 'database'>,
  kind: string,
  explained: AdapterExplanation,
): Promise<AdapterExplanation> => {
  const { adapter, required, status, why } = explained
  if (!required || status !== undefined || (await reporters.hasReported(database.kysely, kind, adapter)))
    return explained
  return { ...explained, why: `${why}, on no ${kind} at all: is there a task for it?` }
}

const describeWaits = (
  { deleted_time, status, kind }: Resource,
  isUndecided: boolean,
  adapters: readonly AdapterExplanation[],
  groups: readonly string[],
  children: readonly ChildSummary[],
): string[] => {
  const awaited = adapters.filter(({ awaited }) => awaited).map(({ adapter, why }) => `adapter ${adapter}: ${why}`)
  if (deleted_time === undefined && isUndecided)
    return [`required_adapters of ${kind}, which is undecided: name there the adapters that must report`, ...awaited]
  if (deleted_time === undefined)
    return awaited.length === 0 && status.phase === 'NotReady' ? ['the first report of an adapter'] : awaited
  return [
    ...awaited,
    ...groups.map(
      (group) => `consumer group ${group}: it took an event before the deletion and has not finished with it`,
    ),
    ...children.map(({ kind, name, id }) => `${kind} ${name} (${id}): it is not removed yet`),
  ]
}

/** The next one is as the sender of the last one meant it. */
const describePulses = (last: LastPulse | undefined) => {
  if (last === undefined) return {}
  const { next, ...pulse } = last
  return { last: pulse, ...(next !== undefined && { next: { time: next } }) }
}

/** Reports that were not aggregated, but those that are too long for an explanation: the history has them. */
const readDiscarded = async (reader: Reader, id: string) => {
  const { rows } = await readHistory(reader, id, { offset: 0, size: MAX_DISCARDED })
  return rows.flatMap(({ received_time, reason, document }) =>
    document === null ? [] : [{ received_time, reason, report: JSON.parse(document) as Report }],
  )
}

interface RemainingObject {
  readonly adapter: string
  readonly observed_time: Timestamp
  readonly object?: object
  readonly message?: string
}

/** What an adapter says is left: the objects that it lists, else the message of its Applied. */
const listRemaining = ({ adapter, awaited, status }: AdapterExplanation): RemainingObject[] => {
  if (!awaited || status === undefined) return []
  const observed_time = status.latest_report?.observed_time ?? status.last_report_time
  const { remaining } = status.data
  if (Array.isArray(remaining))
    return remaining
      .filter((object): object is object => typeof object === 'object' && object !== null)
      .map((object) => ({ adapter, observed_time, object }))
  const applied = status.conditions.find(({ type }) => type === 'Applied')
  return applied?.status === 'True' && applied.message !== undefined
    ? [{ adapter, observed_time, message: applied.message }]
    : []
}
