import { expect, test } from 'vitest'
import { type BatchSpec, type Candidate, freezeBatches } from '#controllers/fleet/rollout/batches.ts'
import { readPage } from './page.ts'

const { text } = await readPage('docs/fleet-rollouts.md')

/** The columns of the table. */
const COLUMNS: readonly (readonly BatchSpec[])[] = [
  [{ selector: { matchLabels: { ring: 'canary' } } }, { limit: '25%' }],
  [{ limit: '25%' }, { limit: '50%' }],
]

const devicesOf = (count: number): readonly Candidate[] =>
  Array.from({ length: count }, (_, at): Candidate => {
    return { name: `device-${at}`, labels: at < 2 ? { ring: 'canary' } : {}, joinedAt: 0 }
  })

const rows = [...text.matchAll(/^\| (\d+) \| ([\w, ]+) \| ([\w, ]+) \|$/gm)].map(([, count, ...cells]) => ({
  count: Number(count),
  cells,
}))

test('docs/fleet-rollouts.md says how many devices a batch has', () => expect(rows.length).toBeGreaterThan(2))

// FLEET-37
test.each(rows)('the batches of $count devices are as docs/fleet-rollouts.md says: $cells', ({ count, cells }) => {
  const batches = COLUMNS.map((specs) => freezeBatches(specs, { uid: 'u', revision: 1 }, devicesOf(count)))
  expect(batches.map((frozen) => frozen.map(({ size }) => size || 'none').join(', '))).toEqual(cells)
})
