import Type from 'typebox'
import type { Entity } from '../../model/entity.ts'
import { parseTimestamp } from '../../model/timestamp.ts'
import { invalidField, Problem } from '../../problems/problem.ts'
import {
  type ArchiveFilter,
  archivedPageQuery,
  countArchived,
  purgeArchive,
  readArchived,
} from '../../storage/archive.ts'
import type { MeasuredRow } from '../../storage/portions.ts'
import { answerPage } from '../list-response.ts'
import { type Operation, operation } from '../operation.ts'
import { ArchivePurge, Purged } from '../schemas/archive.ts'
import { ArchiveQuery, DEFAULT_PAGE_SIZE, listOf } from '../schemas/list.ts'
import type { Service } from '../service.ts'

const TAG = 'Archive'

/** What is known of records that are gone. */
export const archiveOperations = (service: Service): Operation[] => [
  operation({
    method: 'GET',
    path: '/archive/{plural}',
    id: 'listArchive',
    summary: 'Lists removed resources of a kind with their last statuses, the newest first',
    tag: TAG,
    role: 'reader',
    tenants: true,
    parameters: Type.Object({ plural: Type.String({ maxLength: 100 }) }),
    query: ArchiveQuery,
    responses: { 200: { description: 'A page', schema: listOf('ArchivedResource') } },
    handle: async ({ parameters, query: { page = 1, size = DEFAULT_PAGE_SIZE, id, name }, tenancy }) => {
      const { kind } = findEntity(service, parameters.plural)
      const filter: ArchiveFilter = { kind, id, name, tenancy }
      const { kysely } = service.database
      const rows = await archivedPageQuery(kysely, filter, { offset: (page - 1) * size, size }).execute()
      const isAll = page === 1 && rows.length < size
      const total = isAll ? rows.length : await countArchived(kysely, filter)
      const readLong = (long: readonly MeasuredRow[]) =>
        readArchived(
          kysely,
          long.map(({ key }) => key),
        )
      return answerPage({ rows, page, total, room: service.room, readLong })
    },
  }),
  operation({
    method: 'POST',
    path: '/archive/purge',
    id: 'purgeArchive',
    summary: 'Forgets removed resources for good, before their retention is over',
    tag: TAG,
    role: 'admin',
    body: ArchivePurge,
    responses: { 200: { description: 'Gone', schema: Purged } },
    handle: async ({ body }) => {
      if (body.before === undefined && body.kind === undefined)
        throw new Problem('badRequest', 'say what to purge: give before (a time), kind, or both')
      const before = body.before === undefined ? undefined : parseTimestamp(body.before)
      if (body.before !== undefined && before === undefined)
        throw invalidField('before', 'must be an RFC 3339 time such as 2026-01-31T12:00:00Z')
      const purged = await purgeArchive(service.database.kysely, { before, kind: body.kind })
      // A kind that is served no more may still be in the archive, so only what matches nothing can be a slip.
      if (purged === 0 && body.kind !== undefined && service.entities.byKind(body.kind) === undefined)
        throw invalidField('kind', `must be one of ${service.entities.all.map(({ kind }) => kind).join(', ')}`)
      return { status: 200, body: { purged } }
    },
  }),
]

const findEntity = ({ entities }: Service, plural: string): Entity => {
  const entity = entities.byPlural(plural)
  if (entity !== undefined) return entity
  const served = entities.all.map((entity) => entity.plural).join(', ')
  throw new Problem('notFound', `there is no archive of '${plural}', the kinds are ${served}`)
}
