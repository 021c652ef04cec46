import { sql } from 'kysely'
import type { Tenancy } from '../auth/tenancy.ts'
import type { Target } from '../model/reference.ts'
import type { ObjectReference, Resource } from '../model/resource.ts'
import type { Database } from './database.ts'
import type { Reader, Writer } from './dialect.ts'
import { sortedJson } from './resource-write.ts'

/** Those of the named resources that are there and the caller sees; none is marked for deletion before the transaction ends. */
export const lockTargets = async (
  writer: Writer,
  { dialect }: Database,
  ids: readonly string[],
  tenancy: Tenancy | undefined,
): Promise<ReadonlyMap<string, Target>> => {
  if (ids.length === 0) return new Map()
  let query = writer
    .selectFrom('resources')
    .select(['id', 'kind', 'href', 'deleted_time'])
    .where('id', 'in', ids)
    .orderBy('id')
  if (tenancy !== undefined) query = query.where('tenancy', '=', sortedJson(tenancy))
  const rows = await (dialect === 'postgres' ? query.forShare() : query).execute()
  return new Map(
    rows.map(({ id, kind, href, deleted_time }) => [id, { id, kind, href, isDeleting: deleted_time !== null }]),
  )
}

/**
 * A resource that names this one, outside of the family that is being deleted with it. Whatever is being deleted names
 * nothing any more, so what is found is living.
 */
export const findReferrer = (
  reader: Reader,
  { id }: Resource,
  family: Resource,
): Promise<(ObjectReference & { readonly name: string }) | undefined> => {
  const below = `${family.href}/`
  return (
    reader
      .selectFrom('resource_references')
      .innerJoin('resources', 'resources.id', 'resource_references.source_id')
      .select(['resources.id', 'resources.kind', 'resources.href', 'resources.name'])
      .where('resource_references.target_id', '=', id)
      .where('resources.href', '!=', family.href)
      .where(sql<string>`substr(resources.href, 1, ${below.length})`, '!=', below)
      // There may be thousands, and one is enough to refuse.
      .limit(1)
      .executeTakeFirst()
  )
}
