import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PlacementIndex, type PlacementState } from './placement-state.ts'

test('however many Deployments a device has had, each placement is found by both, until it is removed', () => {
  const one = fc.record({
    device: fc.constantFrom('a', 'b'),
    namespace: fc.constant('shop'),
    deployment: fc.constantFrom('x', 'y', 'z'),
  })
  const step = fc.record({ placement: one, isThere: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const index = new PlacementIndex()
      const all = new Map<string, PlacementState>()
      for (const { placement, isThere } of steps) {
        const key = `${placement.device}.shop.${placement.deployment}`
        const found = all.get(key)
        if (isThere) {
          const state = index.at(placement, key)
          expect(state).toBe(found ?? state)
          all.set(key, state)
        } else if (found !== undefined) {
          index.remove(found)
          // Also when it was removed before, and another is in its place.
          all.set(key, index.at(placement, key))
          index.remove(found)
          expect(index.get(found.deployment, placement.device)).toBe(all.get(key))
          index.remove(all.get(key) ?? found)
          all.delete(key)
        }
      }
      const keys = (states: Iterable<PlacementState>) => [...states].map(({ key }) => key).toSorted()
      const those = (part: string) => [...all.keys()].filter((key) => key.split('.').includes(part)).toSorted()
      expect(keys(index.all())).toEqual([...all.keys()].toSorted())
      for (const device of ['a', 'b']) expect(keys(index.ofDevice(device))).toEqual(those(device))
      for (const name of ['x', 'y', 'z']) {
        expect(keys(index.ofDeployment(`shop/${name}`))).toEqual(those(name))
        for (const device of ['a', 'b'])
          expect(index.get(`shop/${name}`, device)).toBe(all.get(`${device}.shop.${name}`))
      }
    }),
  )
})
