/** What steps of the layout do on PostgreSQL alone. */
import { type RawBuilder, sql } from 'kysely'

/** Rows that are written from now on (API-152). Not every server was built with it, and before PostgreSQL 14 none was. */
export const fasterCompression = sql`do $$ begin
  if exists (select from pg_settings where name = 'default_toast_compression' and 'lz4' = any (enumvals)) then
    ${sql.join(
      ['resources', 'changes', 'archive', 'adapter_statuses', 'events'].map((table) =>
        sql.raw(`execute 'alter table ${table} alter column document set compression lz4';`),
      ),
      sql` `,
    )}
  end if;
end $$`

/** Tables beside the resources, by which these are searched. */
export const SEARCHED_TABLES = [sql.table('resource_labels'), sql.table('resource_conditions')]

/** Replicas of versions before this step don't write the time; those since do, and pay for no more than a look at it. */
export const creationTriggers: readonly RawBuilder<unknown>[] = [
  sql`create function note_creation() returns trigger language plpgsql as $$
    begin
      select created_time into new.created_time from resources where id = new.resource_id;
      return new;
    end $$`,
  ...SEARCHED_TABLES.map(
    (table) => sql`create trigger creation_noted before insert on ${table} for each row
      when (new.created_time is null) execute function note_creation()`,
  ),
]

/** How often a kind, a type of condition and a status occur together (API-195); autovacuum keeps it. */
export const conditionStatistics: readonly RawBuilder<unknown>[] = [
  sql`create statistics resource_conditions_together (mcv) on kind, type, status from resource_conditions`,
  sql`analyze resource_conditions`,
]
