import { expect, test } from 'vitest'
import { describeStatement } from './database-metrics.ts'

test.each([
  ['select "document" from "resources" where "id" = $1 for update', 'select', 'resources'],
  ['insert into "resource_labels" ("a") values ($1)', 'insert', 'resource_labels'],
  ['update "resources" set "updated_time" = ?', 'update', 'resources'],
  ['delete from "event_deliveries" where 1 = 1', 'delete', 'event_deliveries'],
  ['commit', 'commit', ''],
  ['notify muster_hyperfleet', 'notify', ''],
  ['vacuum', 'other', ''],
])('%s', (sql, operation, table) => {
  expect(describeStatement(sql)).toEqual({ operation, table })
})
