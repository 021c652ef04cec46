import fc from 'fast-check'
import { expect, test } from 'vitest'
import { orderRecords } from './order-records.ts'

const header = (id: string, ...after: readonly string[]) => ({ id, kind: 'Cluster', name: id, after })
const idsOf = (headers: readonly { readonly id: string }[]) => headers.map(({ id }) => id)

// API-131
test('what a record names comes before it; what is no record is not waited for', () => {
  const { ordered, circular } = orderRecords([header('c', 'b', 'a'), header('b', 'a', 'elsewhere'), header('a')])
  expect(idsOf(ordered)).toEqual(['a', 'b', 'c'])
  expect(circular).toEqual([])
})

// API-131
test('a circle, and what names one of it, are told apart from the others', () => {
  const { ordered, circular } = orderRecords([
    header('a', 'b'),
    header('b', 'a'),
    header('c', 'a'),
    header('d'),
    header('e', 'e'),
  ])
  expect(idsOf(ordered)).toEqual(['d'])
  expect(idsOf(circular)).toEqual(['a', 'b', 'c', 'e'])
})

// API-131
test('each record is in one of the two, and every ordered one after what it names', () => {
  const some = fc
    .array(fc.array(fc.nat(9), { maxLength: 3 }), { maxLength: 10 })
    .map((named) => named.map((after, at) => header(String(at), ...after.map(String))))
  fc.assert(
    fc.property(some, (headers) => {
      const { ordered, circular } = orderRecords(headers)
      expect(idsOf([...ordered, ...circular]).toSorted()).toEqual(idsOf(headers).toSorted())
      for (const [at, { after }] of ordered.entries())
        for (const id of after.filter((each) => headers.some((one) => one.id === each)))
          expect(idsOf(ordered.slice(0, at))).toContain(id)
    }),
  )
})
