import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lines } from './split-lines.ts'

const split = async (chunks: readonly Buffer[]): Promise<string[]> => {
  async function* stream() {
    yield* chunks
  }
  return (await Array.fromAsync(lines(stream()))).map((line) => line.toString())
}

test('lines come out whole wherever the chunks are cut, even within a character', async () => {
  const text = fc.string({ unit: 'grapheme' }).map((some) => some.replaceAll('\n', ' '))
  await fc.assert(
    fc.asyncProperty(fc.array(text), fc.array(fc.nat(200)), async (written, cuts) => {
      const bytes = Buffer.from(written.map((line) => `${line}\n`).join(''))
      const edges = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length]
      const chunks = edges.slice(1).map((edge, position) => bytes.subarray(edges[position], edge))
      expect(await split(chunks)).toEqual(written.filter((line) => line !== ''))
    }),
  )
})

test('a last line without its newline is dropped: its sender died', async () => {
  expect(await split([Buffer.from('{"a":1}\n{"b"')])).toEqual(['{"a":1}'])
})
