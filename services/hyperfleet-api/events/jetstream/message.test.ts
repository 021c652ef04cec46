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
  expect(buildMessages(event, 0)).toEqual([{ id: 'r.1', isFirst: true, body: event.document, consumers: [] }])
  const groups = ['dns', 'net'].map((consumer) => ({ consumer, replays: 0 }))
  expect(buildMessages({ ...event, groups }, 0)).toEqual([
    { id: 'r.1', isFirst: true, body: event.document, consumers: ['dns', 'net'] },
  ])
})

test('a group that wants it afterwards gets a message of its own', () => {
  const groups = [{ consumer: 'late', replays: 0 }]
  expect(buildMessages({ ...event, isRelayed: true, groups }, 0)).toEqual([
    { id: 'r.1/late/0', isFirst: false, body: event.document, consumers: ['late'] },
  ])
  expect(buildMessages({ ...event, isRelayed: true }, 0)).toEqual([])
})

test('each replay is a message of its own, marked in the event', () => {
  const groups = [
    { consumer: 'dns', replays: 0 },
    { consumer: 'net', replays: 2 },
  ]
  expect(buildMessages({ ...event, groups }, 0)).toEqual([
    { id: 'r.1', isFirst: true, body: event.document, consumers: ['dns'] },
    { id: 'r.1/net/2', isFirst: false, body: '{"id":"r.1","replay":2}', consumers: ['net'] },
  ])
})

test('what a stream has lost goes to it under another id, which it does not take for a repetition', () => {
  const groups = [{ consumer: 'late', replays: 1 }]
  expect(buildMessages({ ...event, groups }, 2).map(({ id }) => id)).toEqual(['r.1~2', 'r.1/late/1~2'])
})
