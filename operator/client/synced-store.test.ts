import { expect, test } from 'vitest'
import { silent } from '../model/log.ts'
import type { KubeObject } from '../model/resource.ts'
import { CacheBudget } from './cache-budget.ts'
import { SyncedStore } from './synced-store.ts'

const pod = (uid: string, resourceVersion: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', namespace: 'n', uid, resourceVersion: String(resourceVersion) },
  spec: {},
})

const synced = (...listed: KubeObject[]) => {
  const events: string[] = []
  const objects = new SyncedStore<KubeObject>({
    log: silent,
    share: new CacheBudget(1_000_000).open(),
    onEvent: (event) =>
      events.push(
        event.type === 'synced'
          ? 'synced'
          : `${event.type} ${event.object.metadata.uid}@${event.object.metadata.resourceVersion}`,
      ),
  })
  objects.beginList()
  for (const object of listed) objects.put(object)
  objects.endList('3')
  events.length = 0
  const stored = () =>
    [...objects.store.values()].map(({ metadata }) => `${metadata.uid}@${metadata.resourceVersion}`).join()
  return { objects, events, stored }
}

// RUNTIME-74
test('the end of an object that comes after its successor of the same name takes only the old one away', () => {
  const { objects, events, stored } = synced(pod('old', 3))
  objects.put(pod('new', 7))
  objects.remove(pod('old', 6))
  expect(stored()).toBe('new@7')
  expect(events).toEqual(['deleted old@3', 'added new@7'])
})

test('the end of a successor that was never seen ends the object that is known', () => {
  const { objects, events, stored } = synced(pod('old', 3))
  objects.remove(pod('new', 9))
  expect(stored()).toBe('')
  expect(events).toEqual(['deleted old@3'])
})

test('a state that is older than the one that is known is not told, nor one of an object that has ended', () => {
  const { objects, events, stored } = synced(pod('old', 3))
  objects.put(pod('old', 5))
  objects.put(pod('old', 4))
  objects.remove(pod('old', 6))
  objects.put(pod('old', 5))
  objects.put(pod('new', 8))
  objects.put(pod('old', 5))
  objects.remove(pod('new', 9))
  objects.put(pod('old', 5))
  objects.put(pod('new', 8))
  expect(stored()).toBe('')
  expect(events).toEqual(['modified old@5', 'deleted old@6', 'added new@8', 'deleted new@9'])
})

test('an object whose end was never told does not come back once its successor has ended too', () => {
  const { objects, events, stored } = synced(pod('old', 3))
  objects.put(pod('new', 7))
  objects.remove(pod('new', 9))
  objects.put(pod('old', 5))
  expect(stored()).toBe('')
  expect(events).toEqual(['deleted old@3', 'added new@7', 'deleted new@9'])
})

test('an object that left the selector and came back is there again', () => {
  const { objects, events, stored } = synced(pod('a', 3))
  objects.remove(pod('a', 5))
  objects.put(pod('a', 8))
  objects.remove(pod('a', 5))
  expect(stored()).toBe('a@8')
  expect(events).toEqual(['deleted a@5', 'added a@8'])
})

// RUNTIME-72
test('a complete list is taken as it is, also what is older than what is known, objects that had ended included', () => {
  const { objects, events, stored } = synced(pod('a', 3))
  objects.put(pod('a', 8))
  objects.remove(pod('a', 9))
  objects.beginList()
  objects.put(pod('a', 3))
  objects.endList('3')
  objects.put(pod('a', 4))
  expect(stored()).toBe('a@4')
  objects.beginList()
  objects.put(pod('a', 2))
  objects.endList('2')
  expect(stored()).toBe('a@2')
  expect(events).toEqual(['modified a@8', 'deleted a@9', 'added a@3', 'modified a@4', 'modified a@2'])
})

test('what comes after a list and is no newer than it was left out of it, and is there, whatever ended before', () => {
  const { objects, events, stored } = synced(pod('a', 8))
  objects.beginList()
  objects.endList('5')
  objects.put(pod('a', 4))
  expect(stored()).toBe('a@4')
  objects.remove(pod('a', 6))
  objects.put(pod('a', 5))
  objects.put(pod('new', 7))
  objects.put(pod('a', 3))
  expect(stored()).toBe('new@7')
  expect(events).toEqual(['deleted a@8', 'added a@4', 'deleted a@6', 'added new@7'])
})

test('what an older list of an object that ended shows is not told before the list is complete', () => {
  const { objects, events } = synced(pod('a', 3))
  objects.remove(pod('a', 6))
  objects.beginList()
  objects.endList('6')
  objects.beginList()
  objects.put(pod('a', 3))
  expect(events).toEqual(['deleted a@6'])
})

test('versions that are no numbers can only differ: what comes last counts', () => {
  const opaque = (uid: string, resourceVersion: string): KubeObject => ({
    ...pod(uid, 0),
    metadata: { name: 'a', namespace: 'n', uid, resourceVersion },
  })
  const { objects, stored } = synced(opaque('old', 'x9'))
  objects.put(opaque('old', 'x1'))
  expect(stored()).toBe('old@x1')
  objects.put(opaque('new', 'x0'))
  objects.remove(opaque('old', 'x5'))
  expect(stored()).toBe('new@x0')
  objects.remove(opaque('new', 'x2'))
  expect(stored()).toBe('')
})

// RUNTIME-74
test('a list that is older at its begin than what is known, and goes on to that, tells nothing', () => {
  const { objects, events, stored } = synced(pod('a', 3))
  objects.put(pod('a', 8))
  objects.beginList()
  objects.put(pod('a', 5))
  objects.put(pod('a', 8))
  objects.endList('8')
  expect(stored()).toBe('a@8')
  expect(events).toEqual(['modified a@8'])
})

test('an older state that a list shows, and then its end, is gone when the list is complete', () => {
  const { objects, events, stored } = synced(pod('a', 3))
  objects.put(pod('a', 8))
  objects.beginList()
  objects.put(pod('a', 5))
  objects.remove(pod('a', 6))
  expect(stored()).toBe('a@8')
  objects.endList('8')
  expect(stored()).toBe('')
  expect(events).toEqual(['modified a@8', 'deleted a@8'])
})

test('older states of a list that was broken off count for nothing', () => {
  const { objects, events, stored } = synced(pod('a', 8))
  objects.beginList()
  objects.put(pod('a', 5))
  objects.beginList()
  objects.put(pod('a', 8))
  objects.endList('8')
  expect(stored()).toBe('a@8')
  expect(events).toEqual([])
})

test('a list that shows another state under the version that is known tells it', () => {
  const { objects, events } = synced(pod('a', 8))
  objects.beginList()
  objects.put({ ...pod('a', 8), spec: { v: 2 } })
  objects.endList('8')
  expect(events).toEqual(['modified a@8'])
  expect(objects.isAsKnown({ ...pod('a', 8), spec: { v: 2 } })).toBe(true)
  expect(objects.isAsKnown(pod('a', 8))).toBe(false)
})
