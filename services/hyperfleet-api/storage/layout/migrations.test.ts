import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import { describe, expect, test } from 'vitest'
import { type Migration, migrations } from './migrations.ts'

const kysely = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (database) => new PostgresIntrospector(database),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

const textsOf = (migration: Migration): string[] =>
  migration.statements('postgres').map((statement) => statement.compile(kysely).sql.replaceAll(/\s+/g, ' ').trim())

const uniqueIndexes = new Set(
  migrations.flatMap(textsOf).flatMap((text) => /^create unique index (\w+)/.exec(text)?.[1] ?? []),
)

const COMPRESSION =
  /^do \$\$ begin if exists \(select from pg_settings [^;]*\) then (execute 'alter table \w+ alter column \w+ set compression lz4'; )+end if; end \$\$$/

/**
 * Why replicas of the version before may fail on a layout that has this statement; undefined when they don't.
 * @param made the tables, and the columns as `table.column`, that are made by the same migration: older versions don't know them
 */
const danger = (statement: string, made: ReadonlySet<string>): string | undefined => {
  // It ends with the migration.
  if (statement.startsWith('lock table ')) return undefined
  const [, table, filled] = /^update "?(\w+)"? set (\w+) = [\w.]+ from /.exec(statement) ?? []
  if (filled !== undefined)
    return made.has(`${table}.${filled}`) ? undefined : 'older versions have written what it overwrites'
  if (statement.startsWith('create table ')) return undefined
  // Each row says how it is compressed, so every version reads all of them.
  if (COMPRESSION.test(statement)) return undefined
  const unique = /^create unique index \w+ on (\w+)/.exec(statement)?.[1]
  if (unique !== undefined) return made.has(unique) ? undefined : 'older versions may write what it refuses'
  // What the planner knows decides how fast a statement is, and never what it gives.
  if (/^(create statistics|analyze) /.test(statement)) return undefined
  // A trigger does what older versions don't know of; an index that is no promise only makes them faster or slower.
  if (/^create (index|function|trigger) /.test(statement)) return undefined
  const dropped = /^drop index (\w+)$/.exec(statement)?.[1]
  if (dropped !== undefined && !uniqueIndexes.has(dropped)) return undefined
  if (statement.startsWith('insert into ')) return undefined
  const column = /^alter table "?\w+"? add column (.*)$/.exec(statement)?.[1]
  if (column === undefined) return 'older versions use what it takes away'
  const isFilled = !/not null/.test(column) || /default/.test(column)
  return isFilled ? undefined : 'older versions don’t fill the column'
}

const madeBy = (statement: string): string[] => {
  const [, table, column] = /^alter table "?(\w+)"? add column (\w+)/.exec(statement) ?? []
  return column === undefined ? (/^create table (\w+)/.exec(statement)?.slice(1) ?? []) : [`${table}.${column}`]
}

describe('every migration only adds, so that replicas of the version before go on working', () => {
  test.each(migrations.map((migration) => [migration.name, migration] as const))('%s', (_name, migration) => {
    const texts = textsOf(migration)
    const made = new Set(texts.flatMap(madeBy))
    expect(texts.filter((text) => danger(text, made) !== undefined)).toEqual([])
  })

  test.each([
    'drop table events',
    'drop index resources_living_name',
    'alter table events drop column reason',
    'alter table events rename to happenings',
    'alter table events add column colour text not null',
    'create unique index one on events (reason)',
    'update events set reason = 1',
    'update events set reason = resources.name from resources',
    "do $$ begin if exists (select from pg_settings where name = 'a') then execute 'drop table events'; end if; end $$",
  ])('"%s" would not', (statement) => {
    expect(danger(statement, new Set())).toBeDefined()
  })
})

test('names are unique', () => {
  expect(new Set(migrations.map(({ name }) => name)).size).toBe(migrations.length)
})
