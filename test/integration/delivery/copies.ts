import type pg from 'pg'

/**
 * Copies a cluster that the API has made, so many times, under other names: through the API it would take minutes.
 * @param of its id @param name of the copies, before their number
 */
export const copyCluster = async (
  client: pg.Client,
  { of, name, count }: { readonly of: string; readonly name: string; readonly count: number },
): Promise<void> => {
  const copies = (table: string, key: string, columns: string, copied: string) =>
    `insert into ${table} (${columns}) select ${copied} from ${table} t, generate_series(1, ${count}) n where t.${key} = '${of}'`
  for (const statement of [
    `create or replace function other(text, bigint) returns text language sql immutable as $$ select left($1, length($1) - 5) || lpad($2::text, 5, '0') $$`,
    copies(
      'resources',
      'id',
      'id, kind, name, href, generation, created_time, updated_time, created_by, updated_by, tenancy, document, event_count',
      `other(t.id, n), kind, '${name}-' || n, replace(href, t.id, other(t.id, n)), generation, created_time, updated_time,
       created_by, updated_by, tenancy, replace(replace(document, t.id, other(t.id, n)), '"' || t.name || '"', '"${name}-' || n || '"'), event_count`,
    ),
    copies(
      'resource_labels',
      'resource_id',
      'resource_id, kind, key, value',
      'other(resource_id, n), kind, key, value',
    ),
    copies(
      'resource_conditions',
      'resource_id',
      'resource_id, kind, type, status, observed_generation, last_updated_time, last_transition_time',
      'other(resource_id, n), kind, type, status, observed_generation, last_updated_time, last_transition_time',
    ),
    copies(
      'adapter_statuses',
      'resource_id',
      'resource_id, adapter, document',
      'other(resource_id, n), adapter, document',
    ),
  ])
    await client.query(statement)
}
