import { expect, test } from 'vitest'
import { describeHeld } from '#controllers/adapter/daemon/inferred-deletions.ts'
import { type UnneededKey, UnneededKeyBrake } from '#controllers/fleet/state/unneeded-keys.ts'
import type { KubeSight } from '#test/worlds/suite/observer/sights.ts'
import { goneWhileHeld, withShown } from './held-stays.ts'
import { emptySight, type Sight } from './invariants.ts'

const object = (kind: string, name: string, more: Partial<KubeSight> = {}): KubeSight => ({
  kind,
  metadata: { name, namespace: 'n', uid: name, resourceVersion: '1' },
  ...more,
})

const RELEASE = '0123456789ab'

const inventory = (resourceId: string): KubeSight =>
  object('AdapterInventory', `of-${resourceId}`, {
    spec: { task: 'dns', resourceId, objects: [{ kind: 'ConfigMap', namespace: 'n', name: resourceId }] },
  })

/** A task that holds `a` and `b`, and what is there of them and of `c`. */
const adapters = (there: readonly string[], released?: string): Sight => {
  const deletions = ['a', 'b'].map((key) => ({ key, revision: '', why: 'gone' as const }))
  const message = describeHeld({ verdict: 'Held', deletions, release: RELEASE, limit: 1, total: 3 })
  const task = object('AdapterTask', 'dns', {
    status: { conditions: [{ type: 'DeletionsHeld', status: 'True', message }] },
  })
  const annotations: Readonly<Record<string, string>> =
    released === undefined ? {} : { 'muster.dev/release-deletions': released }
  return {
    ...emptySight,
    objects: {
      AdapterTask: [{ ...task, metadata: { ...task.metadata, annotations } }],
      AdapterInventory: there.map(inventory),
    },
    applied: new Map(there.map((id) => [`ConfigMap n/${id}`, id])),
  }
}

// RUNTIME-47, ADAPTER-75
test('what an adapter holds and deletes all the same is found, be it the object or what says whose it is', () => {
  const before = adapters(['a', 'b', 'c'])
  const shown = withShown(new Map(), before)
  expect(goneWhileHeld(before, before, shown)).toEqual([])
  expect(goneWhileHeld(before, adapters(['a', 'b']), shown)).toEqual([])
  expect(goneWhileHeld(before, adapters(['b', 'c']), shown)).toEqual([
    'AdapterTask n/dns holds a, and AdapterInventory n/of-a, ConfigMap n/a went',
  ])
  const withoutObject = { ...before, applied: new Map([['ConfigMap n/a', 'a']]) }
  expect(goneWhileHeld(before, withoutObject, shown)).toEqual(['AdapterTask n/dns holds b, and ConfigMap n/b went'])
})

test('what a person released goes, by that list and by one that was shown between two looks; an earlier release is none', () => {
  const before = adapters(['a', 'b'])
  const shown = withShown(new Map([['ba9876543210', new Set(['earlier'])]]), before)
  expect(goneWhileHeld(before, adapters([], RELEASE), shown)).toEqual([])
  expect(goneWhileHeld(before, adapters([], `ba9876543210,${RELEASE}`), shown)).toEqual([])
  expect(goneWhileHeld(before, adapters([], 'ffffffffffff'), shown)).toEqual([])
  expect(goneWhileHeld(before, adapters([], 'ba9876543210'), shown)).toHaveLength(2)
})

// RUNTIME-47, FLEET-61
test('keys that the operator of the fleet holds and deletes all the same are found, unless a person released them', () => {
  const all = Array.from({ length: 9 }, (_, index) => `fleet-desired m${index}.n.web`)
  const unneeded = all.map((key): UnneededKey => {
    const placement = { device: key.split(/[ .]/)[1] ?? '', namespace: 'n', deployment: 'web' }
    return { key, revision: 1, placement, reason: 'DeploymentGone', isInherited: true }
  })
  const { held } = new UnneededKeyBrake().decide(unneeded, all.length, undefined, 0)
  const seen = (keys: readonly string[], released = ''): Sight => ({
    ...emptySight,
    keys,
    fleetBrake: { message: held?.message, released },
  })
  const before = seen([...all, 'fleet-desired m0.n.other'])
  const shown = withShown(new Map(), before)
  expect(goneWhileHeld(before, seen(all), shown)).toEqual([])
  expect(goneWhileHeld(before, seen(all.slice(1)), shown)).toEqual([
    'fleet holds n/web, and fleet-desired m0.n.web went',
  ])
  expect(goneWhileHeld(before, seen([], held?.release), shown)).toEqual([])
  expect(goneWhileHeld({ ...before, fleetBrake: emptySight.fleetBrake }, seen([]), shown)).toEqual([])
})
