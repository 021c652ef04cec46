import { type RawBuilder, sql } from 'kysely'
import type { DialectName } from '../dialect.ts'
import { identityColumn, inByteOrder, timeColumn } from './columns.ts'
import { postgresLists, sqliteLists } from './list-tables.ts'
import { conditionStatistics, creationTriggers, fasterCompression, SEARCHED_TABLES } from './postgres-steps.ts'

/**
 * Forward-only steps to the present layout, in order; a step that was released is never edited, and a step only adds, so
 * that replicas of the version before go on working beside the new ones (docs/decisions/layout-only-grows.md).
 * All that are missing run in one transaction, so a crash leaves no half-made layout.
 */
export interface Migration {
  readonly name: string
  statements(dialect: DialectName): readonly RawBuilder<unknown>[]
}

export const migrations: readonly Migration[] = [
  {
    name: '0001-resources',
    statements: (dialect) => [
      sql`create table resources (
        id text primary key, kind text not null, name text not null, href text not null,
        owner_id text references resources (id), owner_kind text,
        generation integer not null,
        created_time ${timeColumn(dialect)} not null, updated_time ${timeColumn(dialect)} not null, deleted_time ${timeColumn(dialect)},
        created_by text not null, updated_by text not null, deleted_by text,
        tenancy text not null, document text not null, event_count integer not null default 0
      )`,
      sql`create unique index resources_living_name on resources (kind, coalesce(owner_id, ''), tenancy, name)
        where deleted_time is null`,
      sql`create index resources_by_creation on resources (kind, created_time desc, id desc)`,
      sql`create index resources_by_id on resources (kind, id)`,
      sql`create index resources_by_name on resources (kind, name, id)`,
      sql`create index resources_by_owner on resources (owner_id, kind, created_time desc, id desc)
        where owner_id is not null`,
      sql`create index resources_in_deletion on resources (kind, deleted_time) where deleted_time is not null`,
      sql`create table resource_labels (
        resource_id text not null references resources (id) on delete cascade,
        kind text not null, key text not null, value text not null,
        primary key (resource_id, key)
      )`,
      sql`create index resource_labels_by_value on resource_labels (kind, key, value, resource_id)`,
      sql`create table resource_conditions (
        resource_id text not null references resources (id) on delete cascade,
        kind text not null, type text not null, status text not null, observed_generation integer not null,
        last_updated_time ${timeColumn(dialect)} not null, last_transition_time ${timeColumn(dialect)} not null,
        primary key (resource_id, type)
      )`,
      sql`create index resource_conditions_by_time
        on resource_conditions (kind, type, status, last_updated_time, resource_id)`,
      sql`create table adapter_statuses (
        resource_id text not null references resources (id) on delete cascade,
        adapter text not null, document text not null,
        primary key (resource_id, adapter)
      )`,
      sql`create table status_log (
        id ${identityColumn(dialect)}, resource_id text not null, adapter text not null,
        received_time ${timeColumn(dialect)} not null, reason text not null, report text not null
      )`,
      sql`create index status_log_by_resource on status_log (resource_id, id)`,
      sql`create index status_log_by_time on status_log (received_time)`,
    ],
  },
  {
    name: '0002-changes',
    statements: (dialect) => [
      sql`create table changes (
        version ${identityColumn(dialect)}, type text not null,
        resource_id text not null, kind text not null, owner_id text,
        labels_before text not null, labels text not null, document text not null, time ${timeColumn(dialect)} not null
      )`,
      sql`create index changes_by_kind on changes (kind, version)`,
      sql`create index changes_by_time on changes (time)`,
      sql`create table change_floor (version bigint not null)`,
      sql`insert into change_floor (version) values (0)`,
    ],
  },
  {
    name: '0003-events',
    statements: (dialect) => [
      sql`create table events (
        sequence ${identityColumn(dialect)}, id text not null unique,
        resource_id text not null, kind text not null, generation integer not null, reason text not null,
        document text not null, time ${timeColumn(dialect)} not null,
        taken_time ${timeColumn(dialect)}, relayed_time ${timeColumn(dialect)}
      )`,
      sql`create unique index events_not_taken on events (resource_id, generation, reason) where taken_time is null`,
      sql`create index events_not_relayed on events (sequence) where relayed_time is null`,
      sql`create index events_by_time on events (time)`,
      sql`create table event_consumers (
        name text primary key, kind text not null, selector text not null, max_deliveries integer not null,
        created_time ${timeColumn(dialect)} not null
      )`,
      sql`create table event_deliveries (
        consumer text not null references event_consumers (name) on delete cascade,
        event_sequence bigint not null references events (sequence) on delete cascade,
        visible_time ${timeColumn(dialect)} not null, deliveries integer not null default 0,
        claim text, dead_time ${timeColumn(dialect)},
        primary key (consumer, event_sequence)
      )`,
      sql`create index event_deliveries_by_event on event_deliveries (event_sequence)`,
      sql`create index event_deliveries_waiting on event_deliveries (consumer, event_sequence) where dead_time is null`,
    ],
  },
  {
    name: '0005-archive',
    statements: (dialect) => [
      sql`create table archive (
        id text primary key, kind text not null, name text not null, tenancy text not null,
        archived_time ${timeColumn(dialect)} not null, document text not null
      )`,
      sql`create index archive_by_kind on archive (kind, archived_time desc, id desc)`,
      sql`create index archive_by_name on archive (kind, name, archived_time desc, id desc)`,
      sql`create index archive_by_time on archive (archived_time)`,
    ],
  },
  {
    name: '0006-reconciliation-metrics',
    statements: () => [
      sql`alter table resources add column awaited text`,
      sql`create index resource_conditions_not_ready on resource_conditions (kind, last_transition_time, resource_id)
        where type = 'Ready' and status = 'False'`,
    ],
  },
  {
    name: '0007-references',
    statements: () => [
      sql`create table resource_references (
        source_id text not null references resources (id) on delete cascade,
        ref_type text not null,
        target_id text not null references resources (id) on delete cascade,
        primary key (source_id, ref_type, target_id)
      )`,
      sql`create index resource_references_by_target on resource_references (target_id, ref_type, source_id)`,
    ],
  },
  {
    name: '0008-deliveries',
    statements: () => [
      sql`alter table events add column stream_sequence bigint`,
      sql`alter table event_deliveries add column stream_sequence bigint`,
      sql`alter table event_deliveries add column reply text`,
      sql`alter table event_deliveries add column replays integer not null default 0`,
      sql`create index event_deliveries_not_relayed on event_deliveries (event_sequence)
        where stream_sequence is null and dead_time is null`,
      sql`create index event_deliveries_dead on event_deliveries (dead_time) where dead_time is not null`,
    ],
  },
  {
    name: '0009-lists',
    statements: (dialect) => [
      sql`create index resources_by_update on resources (kind, updated_time)`,
      sql`create index resources_by_tenant on resources (tenancy, kind, created_time desc, ${inByteOrder(dialect, 'id')} desc)
        where tenancy <> '{}'`,
      sql`create table resource_specs (
        resource_id text primary key references resources (id) on delete cascade,
        kind text not null, spec ${dialect === 'postgres' ? sql`jsonb` : sql`text`} not null
      )`,
      sql`create index resource_specs_by_kind on resource_specs (kind, resource_id)`,
      sql`create table resource_counts (
        kind text not null, slot integer not null, count bigint not null, primary key (kind, slot)
      )`,
      ...(dialect === 'postgres' ? postgresLists : sqliteLists),
      // The triggers are there already and lock writers out, so nothing is missed or counted twice.
      sql`insert into resource_counts (kind, slot, count) select kind, -1, count(*) from resources group by kind`,
    ],
  },
  {
    name: '0010-recipients',
    statements: () => [
      sql`create index events_by_resource on events (resource_id, generation)`,
      sql`alter table resources add column awaited_groups text`,
      sql`create index resources_by_awaited_groups on resources (id) where awaited_groups is not null`,
      sql`create table event_recipients (
        resource_id text not null references resources (id) on delete cascade,
        consumer text not null references event_consumers (name) on delete cascade,
        primary key (resource_id, consumer)
      )`,
      sql`create index event_recipients_by_consumer on event_recipients (consumer)`,
      sql`insert into event_recipients (resource_id, consumer)
        select distinct event.resource_id, delivery.consumer from event_deliveries as delivery
        join events as event on event.sequence = delivery.event_sequence
        join resources as resource on resource.id = event.resource_id`,
    ],
  },
  {
    name: '0011-history',
    statements: () => [sql`alter table change_floor add column origin text not null default ''`],
  },
  {
    name: '0012-next-pulse',
    statements: (dialect) => [sql`alter table events add column next_time ${timeColumn(dialect)}`],
  },
  {
    name: '0013-event-stream',
    statements: () => [
      sql`create table event_stream (
        created text not null default '', epoch integer not null default 0, newest bigint not null default 0
      )`,
      sql`insert into event_stream (newest) select greatest_place.place from (
        select coalesce(max(stream_sequence), 0) as place from (
          select stream_sequence from events union all select stream_sequence from event_deliveries) as places
        ) as greatest_place`,
    ],
  },
  {
    name: '0014-given-back',
    statements: () => [sql`alter table event_deliveries add column given_back integer not null default 0`],
  },
  {
    name: '0015-histories',
    statements: () => [
      sql`create table change_history (run text not null, tables text not null, mark text not null)`,
      sql`create table change_gaps (after bigint not null, upto bigint not null)`,
    ],
  },
  {
    name: '0016-pulled-deliveries',
    statements: () => [sql`alter table event_deliveries add column is_pulled integer not null default 0`],
  },
  {
    name: '0017-creation-beside-labels',
    statements: (dialect) => [
      // Writers begin there: they wait in their place, and none has one of the others already.
      ...(dialect === 'postgres' ? [sql`lock table resources in share row exclusive mode`] : []),
      ...SEARCHED_TABLES.map((table) => sql`alter table ${table} add column created_time ${timeColumn(dialect)}`),
      ...(dialect === 'postgres' ? creationTriggers : []),
      // Filled without them, and built at once: the columns, then the indexes that were there before too.
      sql`drop index resource_labels_by_value`,
      sql`drop index resource_conditions_by_time`,
      sql`drop index resource_conditions_not_ready`,
      ...SEARCHED_TABLES.map(
        (table) => sql`update ${table} set created_time = resources.created_time
          from resources where resources.id = resource_id`,
      ),
      sql`create index resource_labels_by_creation
        on resource_labels (kind, key, value, created_time desc, ${inByteOrder(dialect, 'resource_id')} desc)`,
      sql`create index resource_conditions_by_creation
        on resource_conditions (kind, type, status, created_time desc, ${inByteOrder(dialect, 'resource_id')} desc)`,
      sql`create index resource_labels_by_value on resource_labels (kind, key, value, resource_id)`,
      sql`create index resource_conditions_by_time
        on resource_conditions (kind, type, status, last_updated_time, resource_id)`,
      sql`create index resource_conditions_not_ready on resource_conditions (kind, last_transition_time, resource_id)
        where type = 'Ready' and status = 'False'`,
    ],
  },
  {
    name: '0018-takeovers',
    statements: (dialect) => [
      sql`create table takeovers (id text primary key, digest text not null, time ${timeColumn(dialect)} not null)`,
    ],
  },
  {
    name: '0019-lz4',
    statements: (dialect) => (dialect === 'postgres' ? [fasterCompression] : []),
  },
  {
    name: '0020-issuer-origins',
    statements: () => [sql`create table issuer_origins (prefix text primary key, issuer text not null)`],
  },
  {
    name: '0021-version-key',
    statements: (dialect) => [
      sql`create table version_key (secret text not null)`,
      dialect === 'postgres'
        ? sql`insert into version_key values (gen_random_uuid()::text || gen_random_uuid()::text)`
        : sql`insert into version_key values (lower(hex(randomblob(32))))`,
    ],
  },
  {
    name: '0022-statistics',
    // SQLite counts along its indexes, which have these columns together.
    statements: (dialect) => (dialect === 'postgres' ? conditionStatistics : []),
  },
]
