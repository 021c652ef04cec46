import { expect, test } from 'vitest'
import { RecordCache } from './record-cache.ts'

test('whoever could not go on is told once when the stream shows what is true, whatever its status says by then', () => {
  const records = new RecordCache()
  expect(records.outage).toBeDefined()
  const deleted = { namespace: 'clusters', name: 'installed-and-deleted' }
  records.addWaiting(deleted)
  records.addWaiting({ ...deleted })
  expect(records.takeWaiting()).toEqual([deleted])
  expect(records.takeWaiting()).toEqual([])
})
