import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type KubeObject, keyOf } from '../model/resource.ts'
import { createStore } from './store.ts'

interface Claim extends KubeObject {
  readonly spec: { readonly pools: readonly string[] }
}

const claim = (name: string, ...pools: string[]): Claim => ({
  apiVersion: 'v1',
  kind: 'Claim',
  metadata: { name, namespace: 'n', uid: name, resourceVersion: '1' },
  spec: { pools },
})
const byPool = (object: Claim) => object.spec.pools.map((pool) => [pool, object.metadata.name] as const)

test('an index follows every change of the store, whenever it was made', () => {
  const change = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    pools: fc.option(fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 })),
  })
  fc.assert(
    fc.property(fc.array(change), fc.nat(10), (changes, indexAfter) => {
      const store = createStore<Claim>()
      let index = store.index(byPool)
      for (const [position, { name, pools }] of changes.entries()) {
        if (position === indexAfter) index = store.index(byPool)
        if (pools === null) store.delete(`n/${name}`)
        else store.set(claim(name, ...pools))
      }
      const expected = Object.groupBy([...store.values()].flatMap(byPool), ([pool]) => pool)
      expect([...index.keys()].toSorted()).toEqual(Object.keys(expected).toSorted())
      for (const pool of ['x', 'y', 'z']) {
        expect(index.get(pool).toSorted()).toEqual((expected[pool] ?? []).map(([, name]) => name).toSorted())
      }
    }),
  )
})

test('objects are found by namespace and name, the last one set wins', () => {
  const store = createStore<Claim>()
  store.set(claim('a', 'x'))
  const newer = claim('a', 'y')
  store.set(newer)
  expect(store.size).toBe(1)
  expect(store.get(keyOf(newer.metadata))).toBe(newer)
  store.delete('n/a')
  expect([...store.values()]).toEqual([])
})

test('an object for which the index function throws is in the store, not in the index, and told', () => {
  const errors: unknown[] = []
  const store = createStore<Claim>((key, error) => errors.push([key, error]))
  const boom = new Error('boom')
  const index = store.index((object) => {
    if (object.spec.pools.includes('bad')) throw boom
    return byPool(object)
  })
  store.set(claim('a', 'x'))
  store.set(claim('a', 'x', 'bad'))
  expect(store.get('n/a')?.spec.pools).toEqual(['x', 'bad'])
  expect(index.get('x')).toEqual([])
  expect(errors).toEqual([['n/a', boom]])
})
