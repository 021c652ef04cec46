import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseFields } from '../model/projection.ts'
import type { Change } from './changes.ts'
import { createLiveMessages } from './live-messages.ts'
import type { Sink } from './sink.ts'
import type { Subscription } from './watch-message.ts'

const SIZE = 20_000
const FIELDS = [undefined, 'id', 'spec', 'id,spec'] as const

const changeOf = (version: number, bytes: number): Change => ({
  version,
  type: 'added',
  kind: 'Cluster',
  ownerId: undefined,
  labelsBefore: {},
  labels: {},
  document: JSON.stringify({ id: '1', spec: { note: 'x'.repeat(bytes) } }),
})

const subscriptionOf = (fields: string | undefined): Subscription => ({
  kind: 'Cluster',
  selector: [],
  fields,
  projection: parseFields(fields),
  position: String,
})

/** One that takes nothing until it is told to. */
const reader = () => {
  const leaving = new AbortController()
  const waiting: { readonly bytes: number; readonly delivered: () => void }[] = []
  const sink: Sink = {
    cutOff: () => false,
    signal: leaving.signal,
    caller: 'one',
    drained: async () => {},
    write: (bytes, delivered = () => {}) => {
      waiting.push({ bytes: Buffer.byteLength(bytes), delivered })
      return waiting.reduce((sum, { bytes }) => sum + bytes, 0)
    },
  }
  return { sink, take: () => waiting.shift()?.delivered(), leave: () => leaving.abort() }
}

// API-162
test('what waits for readers has one bound, whatever they ask for, take and leave; and once they have all of it, nothing is held', () => {
  const steps = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ bytes: fc.nat(9_000), shapes: fc.array(fc.nat(7), { minLength: 1 }) }) },
      { weight: 2, arbitrary: fc.record({ takes: fc.nat(7), count: fc.nat(5) }) },
      { weight: 1, arbitrary: fc.record({ leaves: fc.nat(7) }) },
    ),
  )
  fc.assert(
    fc.property(steps, (chosen) => {
      const live = createLiveMessages(SIZE)
      const readers = Array.from({ length: 8 }, (_, at) => {
        const one = reader()
        return { ...one, writer: live.writer(one.sink), subscription: subscriptionOf(FIELDS[at % FIELDS.length]) }
      })
      chosen.forEach((step, version) => {
        if ('bytes' in step) {
          const change = changeOf(version, step.bytes)
          for (const at of step.shapes) {
            const before = live.bytesInUse
            const { writer, subscription, sink } = readers[at] as (typeof readers)[number]
            if (sink.signal.aborted) continue
            const written = writer.write(change, 'added', subscription)
            if (written === undefined) expect(live.bytesInUse).toBe(before)
          }
        } else if ('takes' in step) for (let n = 0; n < step.count; n += 1) readers[step.takes]?.take()
        else readers[step.leaves]?.leave()
        // What a message has beside the document: its type and version.
        expect(live.bytesInUse).toBeLessThanOrEqual(SIZE + 300)
      })
      for (const { take, leave } of readers.slice(0, 4)) {
        leave()
        take()
      }
      for (const { take } of readers.slice(4)) for (let n = 0; n < 1_000; n += 1) take()
      expect(live.bytesInUse).toBe(0)
    }),
    { numRuns: 200 },
  )
})

test('a change costs its bytes once for all streams that look alike, and once for each other one', () => {
  const live = createLiveMessages(SIZE)
  const change = changeOf(1, 1_000)
  const sizes = Array.from({ length: 5 }, () => {
    live.writer(reader().sink).write(change, 'added', subscriptionOf(undefined))
    return live.bytesInUse
  })
  expect(sizes.slice(1).map((size, at) => size - (sizes[at] ?? 0))).toEqual([256, 256, 256, 256])
  live.writer(reader().sink).write(change, 'added', subscriptionOf('spec'))
  expect(live.bytesInUse - (sizes.at(-1) ?? 0)).toBeGreaterThan(1_000)
})

// API-162: a character is up to three bytes.
test('documents in other scripts than Latin are held to the same bound', () => {
  const live = createLiveMessages(SIZE)
  const change = { ...changeOf(1, 0), document: JSON.stringify({ id: '1', spec: { note: '語'.repeat(9_000) } }) }
  live.writer(reader().sink).write(changeOf(0, 9_000), 'added', subscriptionOf(undefined))
  live.writer(reader().sink).write(change, 'added', subscriptionOf(undefined))
  expect(live.bytesInUse).toBeLessThanOrEqual(SIZE + 300)
})

test('attack: one caller asks for the same change in other parts by many streams, and others have no room for what comes', () => {
  const live = createLiveMessages(SIZE)
  const change = changeOf(1, 1_000)
  const ofGreedy = { ...reader().sink, caller: 'greedy' }
  for (let n = 0; n < 50; n += 1) live.writer(ofGreedy).write(change, 'added', subscriptionOf(`spec${',id'.repeat(n)}`))
  const { sink } = reader()
  expect(
    live.writer({ ...sink, caller: 'other' }).write(changeOf(2, 5_000), 'added', subscriptionOf(undefined)),
  ).toBeDefined()
})
