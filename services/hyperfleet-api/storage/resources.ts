import { sql } from 'kysely'
import type { Tenancy } from '../auth/tenancy.ts'
import type { Entity } from '../model/entity.ts'
import type { Resource } from '../model/resource.ts'
import { Problem } from '../problems/problem.ts'
import type { Database } from './database.ts'
import type { Reader, Writer } from './dialect.ts'
import { sortedJson } from './resource-write.ts'

/** Where a request looks for one resource: its kind, its id and, on a nested path, the parent; and whose it must be. */
export interface Address {
  readonly entity: Entity
  readonly id: string
  readonly ownerId?: string
  /** Every tenant's when undefined. */
  readonly tenancy?: Tenancy | undefined
}

/** The wire document of one resource. @throws Problem notFound */
export const readDocument = async (reader: Reader, address: Address): Promise<string> => {
  const row = await selectResource(reader, address).executeTakeFirst()
  if (row === undefined) throw resourceNotFound(address)
  return row.document
}

/** The kind of a resource of which only the id is known. @throws Problem notFound */
export const readKind = async (reader: Reader, { id, tenancy }: Pick<Address, 'id' | 'tenancy'>): Promise<string> => {
  const query = reader.selectFrom('resources').select('kind').where('id', '=', id)
  const row = await (tenancy === undefined
    ? query
    : query.where('tenancy', '=', sortedJson(tenancy))
  ).executeTakeFirst()
  if (row === undefined) throw new Problem('notFound', `Resource with id='${id}' not found`)
  return row.kind
}

/** A resource that stays as it is until the transaction ends. @throws Problem notFound */
export const lockResource = async (writer: Writer, { dialect }: Database, address: Address): Promise<Resource> => {
  const query = selectResource(writer, address)
  const row = await (dialect === 'postgres' ? query.forUpdate() : query).executeTakeFirst()
  if (row === undefined) throw resourceNotFound(address)
  return parseDocument(row.document)
}

/**
 * A resource that is not deleted, nor marked for it, until the transaction ends. Others may hold it so at the same time, and
 * reports about it are taken (API-93). @throws Problem notFound
 */
export const shareResource = async (writer: Writer, { dialect }: Database, address: Address): Promise<Resource> => {
  const query = selectResource(writer, address)
  const row = await (dialect === 'postgres' ? query.forKeyShare() : query).executeTakeFirst()
  if (row === undefined) throw resourceNotFound(address)
  return parseDocument(row.document)
}

/** The children of a resource, in deletion or not, held until the transaction ends. */
export const lockChildren = async (writer: Writer, { dialect }: Database, ownerId: string): Promise<Resource[]> => {
  const query = writer.selectFrom('resources').select('document').where('owner_id', '=', ownerId).orderBy('id')
  const rows = await (dialect === 'postgres' ? query.forUpdate() : query).execute()
  return rows.map(({ document }) => parseDocument(document))
}

/** The children of a resource, in deletion or not, as of now. */
export const readChildren = async (reader: Reader, ownerId: string): Promise<Resource[]> => {
  const rows = await reader
    .selectFrom('resources')
    .select('document')
    .where('owner_id', '=', ownerId)
    .orderBy('id')
    .execute()
  return rows.map(({ document }) => parseDocument(document))
}

/** What a list of children shows of one. */
export type ChildSummary = Pick<Resource, 'id' | 'kind' | 'name' | 'href'> & { readonly phase: string }

/** Some of the children of a resource, without their documents. */
export const readChildSummaries = (
  { kysely, dialect }: Database,
  ownerId: string,
  limit: number,
): Promise<ChildSummary[]> =>
  kysely
    .selectFrom('resources')
    .select([
      'id',
      'kind',
      'name',
      'href',
      (dialect === 'postgres'
        ? sql<string>`document::jsonb #>> '{status,phase}'`
        : sql<string>`document ->> '$.status.phase'`
      ).as('phase'),
    ])
    .where('owner_id', '=', ownerId)
    .orderBy('id')
    .limit(limit)
    .execute()

/**
 * Gives a row another version without changing it, so that a transaction that decided from what was there before finds out
 * (storage/optimistic-report.ts).
 */
export const touchResource = async (writer: Writer, id: string): Promise<void> => {
  await writer
    .updateTable('resources')
    .set(({ ref }) => ({ document: ref('document') }))
    .where('id', '=', id)
    .execute()
}

export const hasChildren = async (reader: Reader, ownerId: string): Promise<boolean> =>
  (await reader.selectFrom('resources').select('id').where('owner_id', '=', ownerId).limit(1).executeTakeFirst()) !==
  undefined

export const parseDocument = (document: string): Resource => JSON.parse(document) as Resource

/** The row of an address; no row when it is not there. */
export const selectResource = (reader: Reader, { entity, id, ownerId, tenancy }: Address) => {
  let query = reader.selectFrom('resources').select('document').where('id', '=', id).where('kind', '=', entity.kind)
  if (ownerId !== undefined) query = query.where('owner_id', '=', ownerId)
  if (tenancy !== undefined) query = query.where('tenancy', '=', sortedJson(tenancy))
  return query
}

export const resourceNotFound = ({ entity, id }: Address): Problem =>
  new Problem('notFound', `${entity.kind} with id='${id}' not found`)
