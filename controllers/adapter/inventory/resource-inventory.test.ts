import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { isOwn, keyOfEntry } from './entry.ts'
import { memoryStorage } from './memory-storage.ts'
import { ResourceInventory } from './resource-inventory.ts'

const { signal } = new AbortController()

const entry = (name: string, rest: Partial<InventoryObject> = {}): InventoryObject => ({
  resource: 'config',
  apiVersion: 'v1',
  kind: 'ConfigMap',
  namespace: 'n',
  name,
  generation: 1,
  propagationPolicy: 'Background',
  ...rest,
})

const object = (name: string, uid: string, rest: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'n', uid, ...rest },
})

const names = (inventory: ResourceInventory) =>
  [...inventory.entries.values()].map(({ name = '' }) => name).toSorted((a, b) => a.localeCompare(b))

describe('ADAPTER-62: an inventory', () => {
  test('is written before its objects are applied, and has their uids afterwards', async () => {
    const storage = memoryStorage('mark')
    const inventory = new ResourceInventory({ storage })
    expect(await inventory.intend([entry('a'), entry('b')], signal)).toBe('mark')
    expect(storage.stored?.objects).toEqual([entry('a'), entry('b')])
    for (const name of ['a', 'b']) {
      inventory.markSent(entry(name))
      inventory.recordApplied(entry(name), object(name, `uid-${name}`))
    }
    await inventory.save(signal)
    expect(storage.stored?.objects.map(({ uid }) => uid)).toEqual(['uid-a', 'uid-b'])
  })

  test('is not written again for what it has, and is gone with its last object', async () => {
    const storage = memoryStorage()
    const inventory = new ResourceInventory({ storage })
    await inventory.intend([entry('a')], signal)
    inventory.markSent(entry('a'))
    inventory.recordApplied(entry('a'), object('a', 'uid'))
    await inventory.save(signal)
    const version = storage.stored?.resourceVersion
    await inventory.intend([entry('a')], signal)
    inventory.recordApplied(entry('a'), object('a', 'uid'))
    await inventory.save(signal)
    expect(storage.stored?.resourceVersion).toBe(version)
    inventory.drop([keyOfEntry(entry('a'))])
    await inventory.save(signal)
    expect(storage.stored).toBeUndefined()
  })

  test('forgets what was written down and never sent, and keeps what was sent without an answer', async () => {
    const inventory = new ResourceInventory({ storage: memoryStorage() })
    await inventory.intend([entry('sent'), entry('unsent')], signal)
    inventory.markSent(entry('sent'))
    await inventory.save(signal)
    expect(names(inventory)).toEqual(['sent'])
  })

  test('knows an object that has no namespace by what the server says of it', async () => {
    const inventory = new ResourceInventory({ storage: memoryStorage() })
    const written = entry('c', { kind: 'Namespace' })
    await inventory.intend([written], signal)
    inventory.markSent(written)
    inventory.recordApplied(written, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'c', uid: 'u' } })
    expect([...inventory.entries.keys()]).toEqual(['/Namespace//c'])
  })

  test('that is kept without objects goes when the task is done with the resource', async () => {
    const storage = memoryStorage()
    const inventory = new ResourceInventory({ storage, keepsEmpty: true })
    await inventory.intend([], signal)
    await inventory.save(signal)
    expect(storage.stored).toBeDefined()
    await inventory.save(signal, true)
    expect(storage.stored).toBeUndefined()
  })

  test('that two managers write at the same moment has what either of them applied, also where the other one saw the object before it go', async () => {
    const storage = memoryStorage()
    const [first, second] = [new ResourceInventory({ storage }), new ResourceInventory({ storage })]
    const apply = async (inventory: ResourceInventory, name: string, uid: string) => {
      await inventory.intend([entry(name)], signal)
      inventory.markSent(entry(name))
      inventory.recordApplied(entry(name), object(name, uid))
    }
    await apply(first, 'a', 'old')
    await apply(first, 'b', 'old')
    await first.save(signal)
    await second.refresh(signal)
    // The first one sees that both are gone, and has not written it when the second one has applied one of them again.
    first.drop([keyOfEntry(entry('a')), keyOfEntry(entry('b'))])
    await apply(second, 'a', 'new')
    await second.save(signal)
    await first.save(signal)
    expect(storage.stored?.objects.map(({ name, uid }) => `${name} ${uid}`)).toEqual(['a new'])

    // The other way round: what one of them has changed is not written back by one that has not touched it.
    await second.refresh(signal)
    await apply(second, 'a', 'newest')
    await second.save(signal)
    await apply(first, 'c', 'c')
    await first.save(signal)
    expect(storage.stored?.objects.map(({ name, uid }) => `${name} ${uid}`)).toEqual(['a newest', 'c c'])
  })

  test('has the uid of an object that was left to it while a run changed what it says of it, and could not apply it', async () => {
    const storage = memoryStorage()
    const inventory = new ResourceInventory({ storage })
    await inventory.intend([entry('a')], signal)
    inventory.markSent(entry('a'))
    const { stored } = storage
    await storage.write([entry('a', { uid: 'u', share: 'First' })], stored, signal)
    await inventory.intend([entry('a', { after: ['b'] })], signal)
    inventory.markSent(entry('a'))
    await inventory.save(signal)
    expect(storage.stored?.objects).toEqual([entry('a', { uid: 'u', share: 'First', after: ['b'] })])
  })

  test('keeps an object that was left to it before it was sent, also when the run ends before', async () => {
    const storage = memoryStorage()
    const inventory = new ResourceInventory({ storage })
    await inventory.intend([entry('a')], signal)
    await storage.write([entry('a', { uid: 'u', share: 'First' })], storage.stored, signal)
    await inventory.intend([entry('b')], signal)
    await inventory.save(signal)
    expect(storage.stored?.objects).toEqual([entry('a', { uid: 'u', share: 'First' })])
  })

  test('but not the uid of one that is gone, and is about to be made anew', async () => {
    const storage = memoryStorage()
    const inventory = new ResourceInventory({ storage })
    await inventory.intend([entry('a')], signal)
    inventory.markSent(entry('a'))
    inventory.recordApplied(entry('a'), object('a', 'gone'))
    await inventory.save(signal)
    await storage.write([entry('a', { uid: 'gone', share: 'First' })], storage.stored, signal)
    await inventory.renew(entry('a'), signal)
    expect(storage.stored?.objects.map(({ uid }) => uid)).toEqual([undefined])
  })

  test('loses nothing when managers write it by turns, whatever each of them does', async () => {
    const step = fc.record({
      by: fc.nat(1),
      does: fc.constantFrom('apply', 'drop', 'save', 'restart'),
      name: fc.constantFrom('a', 'b', 'c', 'd'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const storage = memoryStorage()
        const managers = [0, 1].map(() => new ResourceInventory({ storage }))
        const there = new Set<string>()
        for (const { by, does, name } of steps) {
          const inventory = managers[by] as ResourceInventory
          if (does === 'restart') managers[by] = new ResourceInventory({ storage, stored: storage.stored })
          if (does === 'save') await inventory.save(signal)
          if (does === 'apply') {
            await inventory.refresh(signal)
            await inventory.intend([entry(name)], signal)
            inventory.markSent(entry(name))
            there.add(name)
          }
          if (does === 'drop') {
            await inventory.refresh(signal)
            there.delete(name)
            inventory.drop([keyOfEntry(entry(name))])
            await inventory.save(signal)
          }
          // A manager that takes over finds everything that is there.
          const next = new ResourceInventory({ storage, stored: storage.stored })
          expect(names(next)).toEqual(expect.arrayContaining([...there]))
        }
      }),
    )
  })
})

describe('ADAPTER-64: an object is the one that was applied', () => {
  const inventory = (mark: string | undefined, ...entries: InventoryObject[]) => ({
    entries: new Map(entries.map((one) => [keyOfEntry(one), one])),
    mark,
    recordedAt: mark && '2026-01-31T12:00:00Z',
    adapter: 'dns',
    resourceId: 'c1',
  })
  const marked = { annotations: { 'muster.dev/inventory': 'mark' } }
  const labelled = { labels: { 'muster.dev/adapter': 'dns', 'muster.dev/resource-id': 'c1' } }
  const before = { ...labelled, creationTimestamp: '2026-01-31T12:00:00Z' }
  const after = { ...labelled, creationTimestamp: '2026-01-31T12:00:01Z' }
  test.each([
    ['with the uid that is written down', object('a', 'u'), [entry('a', { uid: 'u' })], true],
    ['whatever was taken off it', object('a', 'u', { labels: {} }), [entry('a', { uid: 'u' })], true],
    ['without a uid, by the mark', object('a', 'u', marked), [entry('a')], true],
    [
      'in another version of the same kind',
      { ...object('a', 'u'), apiVersion: 'v2' },
      [entry('a', { uid: 'u' })],
      true,
    ],
    ['but not another one of the same name', object('a', 'other'), [entry('a', { uid: 'u' })], false],
    ['but not by labels that anyone may write', object('a', 'u', after), [entry('b', { uid: 'real' })], false],
    ['but not by them at its own place', object('a', 'u', before), [entry('a', { uid: 'real' })], false],
    ['of an earlier release, by its labels, until it is applied anew', object('a', 'u', before), [entry('a')], true],
    ['also when nothing of it is written down', object('a', 'u', before), [entry('b', { uid: 'real' })], true],
    ['but not where it was only meant to be applied', object('a', 'u', after), [entry('a')], false],
    ['but not one that does not say when it was created', object('a', 'u', labelled), [], false],
    ['but not one with a mark and in no inventory', object('a', 'u', { ...marked, ...before }), [], false],
    [
      'but not one with another mark',
      object('a', 'u', { annotations: { 'muster.dev/inventory': 'x' } }),
      [entry('a')],
      false,
    ],
    [
      'but not by the mark, where another uid is written down',
      object('a', 'v', marked),
      [entry('a', { uid: 'u' })],
      false,
    ],
    ['but not one that copies the mark to another name', object('b', 'u', marked), [entry('a')], false],
  ])('%s', (_, it, entries, expected) => {
    expect(isOwn(it, inventory('mark', ...entries))).toBe(expected)
  })

  const ofOther = { labels: { ...labelled.labels, 'muster.dev/resource-id': 'c2' } }
  test.each([
    ['of an earlier release, by its labels, where nothing is recorded', labelled, true],
    ['but not one of another resource', ofOther, false],
    ['but not one that an inventory has marked', { ...labelled, ...marked }, false],
  ])('%s', (_, metadata, expected) => {
    expect(isOwn(object('a', 'u', metadata), inventory(undefined))).toBe(expected)
  })
})
