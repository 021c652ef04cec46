import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type RowBytes, splitMessages } from './row-bytes.ts'

type Message = { readonly letter: string; readonly body: Buffer }

const messageOf = ({ letter, body }: Message): Buffer => {
  const header = Buffer.from(`${letter}0000`)
  header.writeUInt32BE(4 + body.length, 1)
  return Buffer.concat([header, body])
}

const rowOf = (value: RowBytes): Message => {
  const lengths = Buffer.alloc(6)
  lengths.writeInt16BE(1, 0)
  lengths.writeInt32BE(value === null ? -1 : value.length, 2)
  return { letter: 'D', body: Buffer.concat([lengths, value ?? Buffer.alloc(0)]) }
}

const cut = (bytes: Buffer, places: readonly number[]): Buffer[] => {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

const values = fc.option(fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)))
const others = fc.record({
  letter: fc.constantFrom('T', 'C', 'Z', 'N', 'D'),
  body: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
})

// API-150
test('rows are told apart from the other messages, wherever what comes is cut', () => {
  fc.assert(
    fc.property(
      fc.array(others),
      fc.array(values),
      fc.array(others),
      fc.array(fc.nat()),
      (before, rows, after, places) => {
        let asked: RowBytes[] | undefined
        const forwarded: Buffer[] = []
        const take = splitMessages(
          () => asked,
          (bytes) => forwarded.push(Buffer.from(bytes)),
        )
        const send = (messages: readonly Message[]) => {
          for (const piece of cut(Buffer.concat(messages.map(messageOf)), places)) take(piece)
        }
        // Rows that are not asked for as bytes are forwarded too.
        send(before)
        asked = []
        const ending = [
          { letter: 'C', body: Buffer.from('SELECT') },
          { letter: 'Z', body: Buffer.from('I') },
        ]
        send([...rows.map(rowOf), ...ending])
        expect(asked).toEqual(rows)
        asked = undefined
        send(after)
        expect(Buffer.concat(forwarded)).toEqual(Buffer.concat([...before, ...ending, ...after].map(messageOf)))
      },
    ),
  )
})
