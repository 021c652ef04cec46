import { expect, test } from 'vitest'
import { MarkerError, withBlock } from './document.ts'
import { jsonReport } from './report.ts'
import { type Figure, toRow } from './row.ts'
import { formatNumber, markdownTable, textTable } from './table.ts'

const throughput: Figure = {
  name: 'throughput',
  unit: 'objects/s',
  value: 246,
  peer: { name: 'peer 1.0', value: 220 },
  target: { of: 'ratio', atLeast: 1 },
}
const memory: Figure = { name: 'peak RSS', unit: 'MiB', value: 131.04, target: { of: 'value', atMost: 130 } }
const missing: Figure = { name: 'CPU', unit: 'ms', value: null, peer: { name: 'peer 1.0', value: 1.346 } }

test('a row has the ratio to the program that it is compared with, and whether its target is met', () => {
  expect(toRow(throughput)).toMatchObject({
    value: 246,
    peer: 220,
    peerName: 'peer 1.0',
    ratio: 246 / 220,
    verdict: 'met',
  })
  expect(toRow(memory)).toMatchObject({ value: 131.04, peer: null, ratio: null, verdict: 'missed' })
})

test('what was not measured is neither met nor missed', () => {
  expect(toRow({ ...throughput, value: null }).verdict).toBe('open')
  expect(toRow({ ...throughput, peer: undefined }).verdict).toBe('open')
})

test('a missed target is marked plainly', () => {
  expect(`\n${textTable([throughput, memory, missing].map(toRow))}\n`).toMatchInlineSnapshot(`
    "
    what        ours          unit       compared with    ratio  target
    throughput  246           objects/s  220 (peer 1.0)   1.12x  ≥ 1x    met
    peak RSS    131           MiB                                ≤ 130   MISSED
    CPU         not measured  ms         1.35 (peer 1.0)
    "
  `)
  expect(markdownTable([toRow(memory)])).toMatchInlineSnapshot(`
    "| what | ours | unit | compared with | ratio | target |  |
    | --- | --- | --- | --- | --- | --- | --- |
    | peak RSS | 131 | MiB |  |  | ≤ 130 | MISSED |"
  `)
})

test('numbers have three significant digits', () => {
  expect([0, 0.012345, 1.346, 99.96, 131.04, 10_000].map(formatNumber)).toEqual([
    '0',
    '0.0123',
    '1.35',
    '100',
    '131',
    '10000',
  ])
})

test('the JSON has one list of rows for all benches', () => {
  const machine = { cores: 2, cpu: 'x', memoryGiB: 8, load: 0.1, node: 'v24', platform: 'linux-x64' }
  const report = { summary: '', date: '2026-01-01T00:00:00Z', machine, notes: [] }
  const json = JSON.parse(
    jsonReport([
      { ...report, bench: 'a', rows: [toRow(throughput)] },
      { ...report, bench: 'b', rows: [toRow(memory)], notes: ['kopf is missing'] },
    ]),
  )
  expect(json.rows.map(({ bench, name, ratio }: Record<string, unknown>) => [bench, name, ratio])).toEqual([
    ['a', 'throughput', 246 / 220],
    ['b', 'peak RSS', null],
  ])
  expect(json.notes).toEqual([{ bench: 'b', text: 'kopf is missing' }])
  expect(json.machine.cores).toBe(2)
})

const document = '# Benchmarks\n<!-- bench:a -->\nold\n<!-- /bench -->\ntext\n<!-- bench:b -->\n<!-- /bench -->\nend\n'

test('a block of the document is replaced, and all else stays', () => {
  expect(withBlock(document, 'a', 'new')).toBe(document.replace('old', 'new'))
  expect(withBlock(withBlock(document, 'b', 'one'), 'b', 'two')).toBe(
    document.replace('<!-- bench:b -->\n', '<!-- bench:b -->\ntwo\n'),
  )
})

test('a document without the block is refused with what to write', () => {
  expect(() => withBlock(document, 'c', 'new')).toThrow(MarkerError)
  expect(() => withBlock(document, 'c', 'new')).toThrow('<!-- bench:c -->')
})
