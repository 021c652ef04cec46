import Type, { type Static } from 'typebox'
import { checkObservedTime } from '../../model/decide-report.ts'
import { showStatus } from '../../model/interim-report.ts'
import type { Report } from '../../model/resource.ts'
import { parseTimestamp, type Timestamp } from '../../model/timestamp.ts'
import { reportStatus } from '../../mutations/report.ts'
import { retireAdapter } from '../../mutations/retire-adapter.ts'
import { Problem } from '../../problems/problem.ts'
import { readDocument } from '../../storage/resources.ts'
import { readHistory, readLoggedReports, readStatuses } from '../../storage/statuses.ts'
import { answerPage } from '../list-response.ts'
import { type Operation, operation } from '../operation.ts'
import { entityTag, readPreconditions, readWritePreconditions } from '../preconditions.ts'
import { DEFAULT_PAGE_SIZE, listOf, PageQuery } from '../schemas/list.ts'
import { Adapter, AdapterReport, ReportMetadata } from '../schemas/report.ts'
import type { Service } from '../service.ts'
import { type Collection, itemOf, readAddress } from './collection.ts'

/** Adapter statuses of a resource: read them, and report by PUT or POST, which mean the same (API-8). */
export const statusOperations = (service: Service, place: Collection): Operation[] => {
  const { path, parameters } = itemOf(place)
  const at = { path: `${path}/statuses`, parameters, tag: place.entity.kind, tenants: true } as const
  return [
    operation({
      method: 'GET',
      ...at,
      id: `listStatuses${place.suffix}`,
      summary: 'Lists the newest accepted report of each adapter',
      role: 'reader',
      query: PageQuery,
      conditional: true,
      responses: {
        200: {
          description: 'A page of reports, by adapter name',
          schema: listOf('AdapterStatus'),
          headers: { ETag: 'Names the state of all reports; If-None-Match answers 304 while it is the same' },
        },
        304: { description: 'Nothing was reported since the state that If-None-Match names' },
        412: { description: 'If-Match names another state' },
      },
      handle: async (call) => {
        const { page = 1, size = DEFAULT_PAGE_SIZE } = call.query
        const address = readAddress(place, call)
        await readDocument(service.database.kysely, address)
        const all = await readStatuses(service.database.kysely, address.id)
        const tag = entityTag(JSON.stringify(all))
        const preconditions = readPreconditions(call.headers)
        preconditions.check(tag)
        const known = preconditions.knownTag(tag)
        if (known !== undefined) return { status: 304, headers: { ETag: known } }
        const items = all.slice((page - 1) * size, page * size).map(showStatus)
        return {
          status: 200,
          headers: { ETag: tag },
          body: { items, page, size: items.length, total: all.length },
        }
      },
    }),
    ...(['PUT', 'POST'] as const).map((method) =>
      operation({
        method,
        ...at,
        id: `${method.toLowerCase()}Status${place.suffix}`,
        summary: 'Reports what an adapter observed',
        description: 'With If-Match it is taken only while the reports are in the state that this ETag names.',
        role: 'adapter',
        actsFor: ({ body }) => ({ kind: 'adapter', name: body.adapter }),
        body: AdapterReport,
        conditional: true,
        responses: {
          201: { description: 'Stored', schema: Type.Ref('AdapterStatus') },
          204: {
            description: 'Not aggregated; of AvailableUnknown all but Available, Applied and Finalized shows',
            headers: { 'Muster-Discarded': 'Why' },
          },
          412: { description: 'If-Match names another state of the reports' },
        },
        handle: async (call) => {
          const report = readReport(call.body, call.time, service.now())
          const check = readWritePreconditions(call.headers)
          const isConditional = (['if-match', 'if-none-match'] as const).some(
            (name) => call.headers[name] !== undefined,
          )
          const outcome = await reportStatus(service, {
            address: readAddress(place, call),
            report,
            time: call.time,
            ...(isConditional && { precondition: (rows) => check(entityTag(JSON.stringify(rows))) }),
          })
          return outcome.outcome === 'discarded'
            ? { status: 204, headers: { 'Muster-Discarded': outcome.reason } }
            : { status: 201, body: showStatus(outcome.status) }
        },
      }),
    ),
    operation({
      method: 'DELETE',
      ...at,
      path: `${at.path}/{adapter}`,
      parameters: Type.Object({ ...parameters.properties, adapter: Adapter }),
      id: `retireAdapter${place.suffix}`,
      summary: 'Forgets what a retired adapter said, so that nothing waits for it',
      role: 'admin',
      actsFor: ({ parameters: { adapter } }) => ({ kind: 'adapter', name: adapter }),
      responses: {
        204: { description: 'Forgotten; the resource is gone too when its deletion waited for this adapter alone' },
        409: { description: 'The adapter is required' },
      },
      handle: async (call) => {
        const { adapter } = call.parameters
        await retireAdapter(service, { address: readAddress(place, call), adapter, time: call.time })
        return { status: 204 }
      },
    }),
    operation({
      method: 'GET',
      ...at,
      path: `${at.path}/history`,
      id: `listStatusHistory${place.suffix}`,
      summary: 'Lists the latest reports that were not aggregated, because they said Available=Unknown',
      role: 'reader',
      query: PageQuery,
      responses: {
        200: {
          description: 'A page of reports, newest first; at most 100 a resource are kept',
          schema: listOf('LoggedReport'),
        },
      },
      handle: async (call) => {
        const { page = 1, size = DEFAULT_PAGE_SIZE } = call.query
        const address = readAddress(place, call)
        await readDocument(service.database.kysely, address)
        const { kysely } = service.database
        const { rows, total } = await readHistory(kysely, address.id, { offset: (page - 1) * size, size })
        const heads = new Map(rows.map(({ key, received_time, reason }) => [key, { received_time, reason }]))
        return answerPage({
          rows,
          page,
          total,
          room: service.room,
          format: (report, { key }) => `${JSON.stringify(heads.get(key)).slice(0, -1)},"report":${report}}`,
          readLong: (keys) => readLoggedReports(kysely, keys),
        })
      },
    }),
  ]
}

const METADATA = Object.keys(ReportMetadata.properties)

/** A report as the rules take it. @throws Problem invalid */
const readReport = (body: Static<typeof AdapterReport>, time: Timestamp, now: Date): Report => {
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

const firstDuplicate = (types: readonly string[]): string | undefined => {
  const seen = new Set<string>()
  for (const type of types) {
    if (seen.has(type)) return type
    seen.add(type)
  }
  return undefined
}

const invalidField = (field: string, message: string): Problem =>
  new Problem('invalid', `${field} ${message}`, [{ field, message }])
