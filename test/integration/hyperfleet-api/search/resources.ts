import fc, { type Arbitrary } from 'fast-check'
import type { Condition, Resource } from '#services/hyperfleet-api/model/resource.ts'
import { conditionTypes, labelKeys, labelValues, numbers, specKeys, texts, times } from './trees.ts'

/** Random clusters with the labels, conditions and specs that random searches ask for. */

const scalars = fc.oneof(texts, numbers, fc.boolean(), fc.constant(null))
const specs = fc.dictionary(
  specKeys,
  fc.oneof(
    { weight: 4, arbitrary: scalars },
    { weight: 1, arbitrary: fc.array(scalars, { maxLength: 2 }) },
    { weight: 2, arbitrary: fc.dictionary(specKeys, scalars, { maxKeys: 3 }) },
  ),
  { maxKeys: 5 },
)

const condition = (type: string): Arbitrary<Condition> =>
  fc.record({
    type: fc.constant(type),
    status: fc.constantFrom('True' as const, 'False' as const),
    observed_generation: fc.integer({ min: 1, max: 3 }),
    created_time: times,
    last_updated_time: times,
    last_transition_time: times,
  })

const conditions = fc
  .uniqueArray(conditionTypes, { maxLength: 2 })
  .chain((types) => fc.tuple(...types.map((type) => condition(type))))

/** The n-th resource, so that ids and names differ. */
export const resourceAt = (n: number): Arbitrary<Resource> =>
  fc
    .record({
      labels: fc.dictionary(labelKeys, labelValues, { maxKeys: 3 }),
      spec: specs,
      generation: fc.integer({ min: 1, max: 3 }),
      created_time: times,
      updated_time: times,
      deleted: fc.option(fc.record({ deleted_time: times, deleted_by: fc.constantFrom('someone', 'Someone') }), {
        nil: undefined,
      }),
      conditions,
    })
    .map(({ labels, deleted, conditions, ...rest }) => ({
      ...rest,
      ...deleted,
      id: `0000000${n}`.slice(-8),
      kind: 'Cluster',
      name: `c-${n}`,
      href: `/clusters/${n}`,
      ...(Object.keys(labels).length > 0 && { labels }),
      created_by: 'someone',
      updated_by: n % 2 === 0 ? 'someone' : 'Else',
      tenancy: {},
      status: { phase: 'NotReady' as const, conditions },
    }))
