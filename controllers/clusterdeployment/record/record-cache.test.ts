import { expect, test } from 'vitest'
import { RecordCache } from './record-cache.ts'

test('a waiter that could not go on is told once when the stream shows what is true, whatever its status says by then', () => {
  const records = new RecordCache()
  expect(records.outage).toBeDefined()
  const deleted = { namespace: 'clusters', name: 'installed-and-deleted' }
  records.addWaiting(deleted)
  records.addWaiting({ ...deleted })
  expect(records.takeWaiting()).toEqual([deleted])
  expect(records.takeWaiting()).toEqual([])
})

test('a record that changes concerns the ClusterDeployment it is of, and the one it was of before', () => {
  const records = new RecordCache()
  const owner = (name: string) => ({ namespace: 'clusters', name, id: name })
  const record = (name: string | undefined) => ({
    id: '1',
    href: '',
    name: 'one',
    generation: 1,
    createdAt: 0,
    deleting: false,
    labels: {},
    owner: name === undefined ? undefined : owner(name),
    registration: undefined,
    attempt: 0,
    specDigest: '',
    conditions: [],
  })
  expect(records.put(record(undefined))).toEqual([])
  expect(records.put(record('a'))).toEqual([owner('a')])
  expect(records.put(record('b'))).toEqual([owner('a'), owner('b')])
  expect(records.forget('1')).toEqual([owner('b')])
})
