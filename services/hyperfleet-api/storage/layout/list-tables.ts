import { type RawBuilder, sql } from 'kysely'

/**
 * Lists go by bytes, whatever language the database was set up for. Triggers and not this program keep counts and specs,
 * because replicas of versions before this step write resources too. A spec changes with the generation alone.
 */
export const postgresLists: readonly RawBuilder<unknown>[] = [
  sql`drop index resources_by_creation`,
  sql`create index resources_by_creation on resources (kind, created_time desc, (id collate "C") desc)`,
  sql`drop index resources_by_id`,
  sql`create index resources_by_id on resources (kind, (id collate "C"))`,
  sql`drop index resources_by_name`,
  sql`create index resources_by_name on resources (kind, (name collate "C"), (id collate "C"))`,
  sql`drop index resources_by_owner`,
  sql`create index resources_by_owner on resources (owner_id, kind, created_time desc, (id collate "C") desc)
    where owner_id is not null`,
  sql`create index resource_specs_by_value on resource_specs using gin (spec jsonb_path_ops)`,
  // A row for each of some connections: writers of one kind don't wait for each other's commits.
  sql`create function count_resources() returns trigger language plpgsql as $$
    begin
      insert into resource_counts as counted (kind, slot, count)
      values (coalesce(new.kind, old.kind), pg_backend_pid() % 64, case tg_op when 'INSERT' then 1 else -1 end)
      on conflict (kind, slot) do update set count = counted.count + excluded.count;
      return null;
    end $$`,
  sql`create trigger resources_counted after insert or delete on resources
    for each row execute function count_resources()`,
  sql`create function put_resource_spec() returns trigger language plpgsql as $$
    begin
      insert into resource_specs (resource_id, kind, spec)
      values (new.id, new.kind, new.document::jsonb -> 'spec')
      on conflict (resource_id) do update set spec = excluded.spec;
      return null;
    end $$`,
  sql`create trigger resources_made after insert on resources for each row execute function put_resource_spec()`,
  sql`create trigger resources_changed after update on resources for each row
    when (old.generation <> new.generation) execute function put_resource_spec()`,
  sql`insert into resource_specs (resource_id, kind, spec) select id, kind, document::jsonb -> 'spec' from resources`,
]

export const sqliteLists: readonly RawBuilder<unknown>[] = [
  ...(['insert', 'delete'] as const).map(
    (event) => sql`create trigger ${sql.raw(`resources_counted_on_${event}`)} after ${sql.raw(event)} on resources begin
      insert into resource_counts (kind, slot, count)
      values (${sql.raw(event === 'insert' ? 'new.kind, 0, 1' : 'old.kind, 0, -1')})
      on conflict (kind, slot) do update set count = count + excluded.count;
    end`,
  ),
  ...[
    'resources_made after insert on resources',
    'resources_changed after update on resources when old.generation <> new.generation',
  ].map(
    (trigger) => sql`create trigger ${sql.raw(trigger)} begin
      insert into resource_specs (resource_id, kind, spec) values (new.id, new.kind, new.document -> '$.spec')
      on conflict (resource_id) do update set spec = excluded.spec;
    end`,
  ),
  sql`insert into resource_specs (resource_id, kind, spec) select id, kind, document -> '$.spec' from resources`,
]
