import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PageBuffer } from './page-buffer.ts'
import { PAGE_BYTES } from './page-row.ts'

/** Takes each value in pieces, or as a text; the row of numbers stands anywhere among the documents. */
const fill = (page: PageBuffer, values: readonly string[], piece: number | undefined): void => {
  for (const value of values) {
    if (piece === undefined) {
      page.takeText(value)
      continue
    }
    const bytes = Buffer.from(value)
    page.begin(bytes.length)
    for (let at = 0; at < bytes.length; at += piece) page.take(bytes, at, Math.min(at + piece, bytes.length))
  }
}

const documents = fc.array(
  fc
    .record({ id: fc.nat(), text: fc.string({ unit: 'grapheme', maxLength: 40 }) })
    .map((value) => JSON.stringify(value)),
  { maxLength: 12 },
)
const steps = fc.array(
  fc.record({
    documents,
    numbersAt: fc.nat(12),
    piece: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
    /** Which of the pages that are there are given back before the next comes. */
    givenBack: fc.array(fc.nat(20), { maxLength: 3 }),
  }),
  { maxLength: 25 },
)

// API-175
test('a page has its own bytes until it is given back, however many others come and go', () => {
  fc.assert(
    fc.property(steps, (pages) => {
      const live: { readonly page: PageBuffer; readonly bytes: Buffer; readonly meant: string }[] = []
      for (const { documents, numbersAt, piece, givenBack } of pages) {
        for (const place of givenBack) live.splice(place % (live.length + 1), 1)[0]?.page.giveBack()
        const page = new PageBuffer()
        fill(page, documents.toSpliced(numbersAt, 0, '12 34 5'), piece)
        expect([page.isWhole, page.numbers, page.count]).toEqual([true, '12 34 5', documents.length])
        expect(page.documents()).toEqual(documents)
        live.push({ page, bytes: page.frame('{"items":[', ']}'), meant: `{"items":[${documents.join(',')}]}` })
        for (const { bytes, meant } of live) expect(bytes.toString()).toBe(meant)
      }
      for (const { page } of live) page.giveBack()
    }),
  )
})

// API-175
test('what was given back is used again, once; of what comes back at a time some is kept', () => {
  const pageOf = () => {
    const page = new PageBuffer()
    page.takeText('{}')
    return { page, memory: page.frame('', '').buffer }
  }
  const pages = Array.from({ length: 20 }, pageOf)
  expect(new Set(pages.map(({ memory }) => memory)).size).toBe(20)
  for (const { page } of pages) {
    page.giveBack()
    page.giveBack()
  }
  const again = Array.from({ length: 20 }, pageOf)
  const before = new Set(pages.map(({ memory }) => memory))
  expect(new Set(again.map(({ memory }) => memory)).size).toBe(20)
  expect(again.filter(({ memory }) => before.has(memory)).length).toBe(8)
})

// API-96
test('a page whose documents are missing, or longer than all that was asked for, is not whole', () => {
  const missing = new PageBuffer()
  missing.takeText('{"id":1}')
  missing.begin(undefined)
  missing.takeText('1 2 3')
  expect([missing.isWhole, missing.numbers]).toEqual([false, '1 2 3'])
  const long = new PageBuffer()
  fill(long, ['{}', `{"text":"${'x'.repeat(PAGE_BYTES + 2_000)}"}`, '1 2 3'], 65_536)
  expect([long.isWhole, long.numbers, long.count]).toEqual([false, '1 2 3', 1])
})
