import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ValueSink } from './page-buffer.ts'
import { splitMessages } from './row-bytes.ts'

type Value = Buffer | null

type Message = { readonly letter: string; readonly body: Buffer }

const messageOf = ({ letter, body }: Message): Buffer => {
  const header = Buffer.from(`${letter}0000`)
  header.writeUInt32BE(4 + body.length, 1)
  return Buffer.concat([header, body])
}

const rowOf = (value: Value): Message => {
  const lengths = Buffer.alloc(6)
  lengths.writeInt16BE(1, 0)
  lengths.writeInt32BE(value === null ? -1 : value.length, 2)
  return { letter: 'D', body: Buffer.concat([lengths, value ?? Buffer.alloc(0)]) }
}

const cut = (bytes: Buffer, places: readonly number[]): Buffer[] => {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

/** Where a socket reads to. */
const shared = Buffer.alloc(64 * 1024)

const sinkInto = (values: Value[]): ValueSink => ({
  begin: (length) => void values.push(length === undefined ? null : Buffer.alloc(0)),
  take: (bytes, from, to) => values.push(Buffer.concat([values.pop() ?? Buffer.alloc(0), bytes.subarray(from, to)])),
  takeText: (text) => values.push(text === null ? null : Buffer.from(text)),
})

const values = fc.option(fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)))
const others = fc.record({
  letter: fc.constantFrom('T', 'C', 'Z', 'N', 'D'),
  body: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
})

// API-150, API-176
test('rows are told apart from the other messages, wherever what comes is cut', () => {
  fc.assert(
    fc.property(
      fc.array(others),
      fc.array(values),
      fc.array(others),
      fc.array(fc.nat()),
      (before, rows, after, places) => {
        const asked: Value[] = []
        let sink: ValueSink | undefined
        const forwarded: Buffer[] = []
        const take = splitMessages(
          () => sink,
          // The driver keeps them.
          (bytes) => forwarded.push(bytes),
        )
        const send = (messages: readonly Message[]) => {
          for (const piece of cut(Buffer.concat(messages.map(messageOf)), places)) {
            const place = shared.subarray(0, piece.length)
            piece.copy(place)
            take(place)
            // What comes next is read to the same place.
            shared.fill(0)
          }
        }
        // Rows that are not asked for as bytes are forwarded too.
        send(before)
        sink = sinkInto(asked)
        const ending = [
          { letter: 'C', body: Buffer.from('SELECT') },
          { letter: 'Z', body: Buffer.from('I') },
        ]
        send([...rows.map(rowOf), ...ending])
        expect(asked).toEqual(rows)
        sink = undefined
        send(after)
        expect(Buffer.concat(forwarded)).toEqual(Buffer.concat([...before, ...ending, ...after].map(messageOf)))
      },
    ),
  )
})

// API-175
test('a statement that fails in the middle of a row has no use for its rest, nor has the next one', () => {
  const [first, next]: [Value[], Value[]] = [[], []]
  let sink: ValueSink | undefined = sinkInto(first)
  const take = splitMessages(
    () => sink,
    () => {},
  )
  const row = messageOf(rowOf(Buffer.from('{"id":1}')))
  take(row.subarray(0, 14))
  sink = sinkInto(next)
  take(Buffer.concat([row.subarray(14), messageOf(rowOf(Buffer.from('{}')))]))
  expect([first, next].map((values) => values.map(String))).toEqual([['{"i'], ['{}']])
})
