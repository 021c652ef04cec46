import Type from 'typebox'
import { showStatus } from '../../model/interim-report.ts'
import { reportStatus } from '../../mutations/report.ts'
import { retireAdapter } from '../../mutations/retire-adapter.ts'
import { readDocument } from '../../storage/resources.ts'
import { readHistory, readLoggedReports, readStatuses } from '../../storage/statuses.ts'
import { answerPage } from '../list-response.ts'
import { type Operation, operation } from '../operation.ts'
import { entityTag, readPreconditions, readWritePreconditions } from '../preconditions.ts'
import { DEFAULT_PAGE_SIZE, listOf, PageQuery } from '../schemas/list.ts'
import { Adapter, AdapterReport } from '../schemas/report.ts'
import type { Service } from '../service.ts'
import { type Collection, itemOf, readAddress } from './collection.ts'
import { readReport } from './read-report.ts'

/** Adapter statuses of a resource: read them, and report by PUT or POST, which mean the same (API-8). */
export const statusOperations = (service: Service, place: Collection): Operation[] => [
  listOperation(service, place),
  reportOperation('PUT', service, place),
  reportOperation('POST', service, place),
  retireOperation(service, place),
  historyOperation(service, place),
]

/** What all of them have in common. @param below ends the path */
const statusesOf = (place: Collection, below = '') => {
  const { path, parameters } = itemOf(place)
  return { path: `${path}/statuses${below}`, parameters, tag: place.entity.kind, tenants: true } as const
}

const listOperation = (service: Service, place: Collection): Operation =>
  operation({
    method: 'GET',
    ...statusesOf(place),
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
  })

const reportOperation = (method: 'PUT' | 'POST', service: Service, place: Collection): Operation =>
  operation({
    method,
    ...statusesOf(place),
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
      const isConditional = (['if-match', 'if-none-match'] as const).some((name) => call.headers[name] !== undefined)
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
  })

const retireOperation = (service: Service, place: Collection): Operation =>
  operation({
    method: 'DELETE',
    ...statusesOf(place, '/{adapter}'),
    parameters: Type.Object({ ...itemOf(place).parameters.properties, adapter: Adapter }),
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
  })

const historyOperation = (service: Service, place: Collection): Operation =>
  operation({
    method: 'GET',
    ...statusesOf(place, '/history'),
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
        readLong: (long) =>
          readLoggedReports(
            kysely,
            long.map(({ key }) => key),
          ),
      })
    },
  })
