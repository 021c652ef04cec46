import { expect, test } from 'vitest'
import { desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { DecodedEntries } from './decoded-entries.ts'

const bytesOf = () =>
  desiredCodec.encode(
    {
      owner: { uid: 'u', created: '2026-01-01T00:00:00Z' },
      revision: 1,
      score: { type: 'Process', data: { command: ['x'] } },
    },
    1,
  )

test('devices of a Deployment that have the same bytes share what these say', () => {
  const entries = new DecodedEntries()
  for (const _ of ['pump-1', 'pump-2']) entries.keyWritten('shop/a')
  const first = entries.decode('shop/a', bytesOf())
  entries.keyDeleted('shop/a')
  expect(entries.decode('shop/a', bytesOf())).toBe(first)
  expect(entries.keys).toBe(1)
})

// FLEET-106
test('attack: entries are written under any number of names, and deleted; nothing of them is kept', () => {
  const entries = new DecodedEntries()
  entries.keyWritten('shop/planted')
  const first = entries.decode('shop/planted', bytesOf())
  entries.keyDeleted('shop/planted')
  entries.keyWritten('shop/planted')
  expect(entries.decode('shop/planted', bytesOf())).not.toBe(first)
  expect(entries.keys).toBe(1)
})
