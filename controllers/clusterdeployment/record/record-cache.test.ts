import { expect, test } from 'vitest'
import { Records } from './record-cache.ts'

test('whoever could not go on is told once when the stream shows what is true, whatever its status says by then', () => {
  const records = new Records()
  expect(records.trouble).toBeDefined()
  const deleted = { namespace: 'clusters', name: 'installed-and-deleted' }
  records.awaitedBy(deleted)
  records.awaitedBy({ ...deleted })
  expect(records.release()).toEqual([deleted])
  expect(records.release()).toEqual([])
})
