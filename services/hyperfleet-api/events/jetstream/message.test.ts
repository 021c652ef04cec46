import { expect, test } from 'vitest'
import { buildMessages, type UnrelayedEvent } from './message.ts'

const event: UnrelayedEvent = {
  sequence: 7,
  id: 'r.1',
  kind: 'Cluster',
  document: '{"id":"r.1"}',
  isRelayed: false,
  groups: [],
}

test('an event goes to the stream once, for all groups that want it and also when none does', () => {
  expect(buildMessages(event)).toEqual([{ id: 'r.1', body: event.document, consumers: [] }])
  const groups = ['dns', 'net'].map((consumer) => ({ consumer, replays: 0 }))
  expect(buildMessages({ ...event, groups })).toEqual([{ id: 'r.1', body: event.document, consumers: ['dns', 'net'] }])
})

test('a group that wants it afterwards gets a message of its own', () => {
  const groups = [{ consumer: 'late', replays: 0 }]
  expect(buildMessages({ ...event, isRelayed: true, groups })).toEqual([
    { id: 'r.1/late/0', body: event.document, consumers: ['late'] },
  ])
  expect(buildMessages({ ...event, isRelayed: true })).toEqual([])
})

test('each replay is a message of its own, marked in the event', () => {
  const groups = [
    { consumer: 'dns', replays: 0 },
    { consumer: 'net', replays: 2 },
  ]
  expect(buildMessages({ ...event, groups })).toEqual([
    { id: 'r.1', body: event.document, consumers: ['dns'] },
    { id: 'r.1/net/2', body: '{"id":"r.1","replay":2}', consumers: ['net'] },
  ])
})
