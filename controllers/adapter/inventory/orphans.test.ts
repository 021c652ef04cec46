/** What is pruned is judged again just before: a task or a resource may be there again since the list was made. */
import { expect, test } from 'vitest'
import type { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { ApiError } from '#operator/client/errors.ts'
import type { ApiRequest, Transport } from '#operator/client/transport.ts'
import { systemClock } from '#operator/index.ts'
import { isProofOf, listOrphans, nextToGo, pruneOrphans } from './orphans.ts'

const { signal } = new AbortController()
const TASK = '/apis/hyperfleet.redhat.com/v1alpha1/namespaces/n/adaptertasks/dns'

const inventory = {
  metadata: { name: 'dns-1', namespace: 'n', uid: 'mark', resourceVersion: '1' },
  spec: { task: 'dns', adapter: 'dns', resourceId: 'c1', event: { id: 'c1' }, objects: [] },
} as unknown as AdapterInventory
const entry = {
  resource: 'a',
  apiVersion: 'v1',
  kind: 'ConfigMap',
  namespace: 'n',
  name: 'a',
  uid: 'u',
  generation: 1,
  propagationPolicy: 'Background',
} as const
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n', uid: 'u' } }
const orphan = {
  inventory,
  why: 'TaskGone',
  held: undefined,
  objects: [{ entry, object }],
  proves: [],
  unclear: [],
} as const

const CONFIG_MAP = '/api/v1/namespaces/n/configmaps/a'
const INVENTORIES = '/apis/hyperfleet.redhat.com/v1alpha1/namespaces/n/adapterinventories'
const ALL_INVENTORIES = '/apis/hyperfleet.redhat.com/v1alpha1/adapterinventories'
/** The object, then its inventory. */
const BOTH = [CONFIG_MAP, `${INVENTORIES}/dns-1`]

interface Listed {
  readonly tasks?: readonly string[]
  readonly inventories?: readonly object[]
}

const listed = ({ tasks = [], inventories = [inventory] }: Listed = {}): Readonly<Record<string, object>> => ({
  [TASK.replace(/\/[^/]*$/, '')]: { metadata: {}, items: tasks.map((name) => ({ metadata: { name } })) },
  [INVENTORIES]: { metadata: {}, items: inventories },
  [ALL_INVENTORIES]: { metadata: {}, items: inventories },
})

/** @param refused so many deletions find that the object was written @returns what was asked to be deleted */
const pruneWith = async (answers: Readonly<Record<string, object>>, { refused = 0 } = {}) => {
  const deletions: string[] = []
  const transport = {
    async request({ method, path }: ApiRequest) {
      const isGone = deletions.filter((one) => one === path).length > refused
      if (method === 'DELETE') {
        deletions.push(path)
        if (path === CONFIG_MAP && deletions.length <= refused)
          throw new ApiError({ kind: 'Status', code: 409, reason: 'Conflict' })
        return {}
      }
      const answer = { ...listed(), ...answers }[path]
      if (answer === undefined || isGone) throw new ApiError({ kind: 'Status', code: 404, reason: 'NotFound' })
      return answer
    },
  } as unknown as Transport
  await pruneOrphans([orphan], { transport, clock: systemClock, namespace: 'n', apiClient: undefined, signal })
  return deletions
}

const CORE = { '/api/v1': { resources: [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true }] } }

test('ADAPTER-81: what a task has is not pruned when the task is there again, and is while it is gone', async () => {
  expect(await pruneWith({ ...CORE, [TASK]: { metadata: { name: 'dns', namespace: 'n' } } })).toEqual([])
  expect(await pruneWith(CORE)).toEqual(BOTH)
})

test('ADAPTER-74: what is pruned goes in the order of `after`; what comes after something that stays is not asked to go', () => {
  const named = (resource: string, ...after: string[]) => ({
    entry: { ...entry, resource, name: resource, after },
    object,
  })
  const [parent, child, other] = [named('parent', 'child'), named('child'), named('other', 'gone')]
  const names = (left: Parameters<typeof nextToGo>[0], ...asked: (typeof parent)[]) =>
    nextToGo(left, new Set(asked.map((one) => one.entry))).map((one) => one.entry.resource)
  expect(names([parent, child, other])).toEqual(['child', 'other'])
  expect(names([parent, child], child, other)).toEqual([])
  expect(names([parent], child, other)).toEqual(['parent'])
  expect(names([named('a', 'b'), named('b', 'a')])).toEqual(['a', 'b'])
  expect(names([parent, { entry: child.entry, object: undefined } as never])).toEqual(['parent'])
})

test('ADAPTER-96: an inventory stays that alone proves whose an object is which a living one has too', () => {
  const { uid, ...unproven } = { ...entry, uid: 'u' }
  expect(isProofOf({ ...unproven, uid }, [unproven])).toBe(true)
  expect(isProofOf({ ...unproven, uid }, [unproven, { ...unproven, uid }])).toBe(false)
  expect(isProofOf({ ...unproven, uid }, undefined)).toBe(false)
  expect(isProofOf(unproven, [unproven])).toBe(false)
})

test('ADAPTER-81: what another task has taken since the list was made is not pruned', async () => {
  const spec = { ...inventory.spec, task: 'dns-v2', objects: [{ ...entry, uid: 'u' }] }
  const taken = { metadata: { ...inventory.metadata, name: 'dns-v2-1', uid: 'mark2' }, spec }
  expect(await pruneWith({ ...CORE, ...listed({ tasks: ['dns-v2'], inventories: [inventory, taken] }) })).toEqual([])
  // Its task is gone, too.
  expect(await pruneWith({ ...CORE, ...listed({ tasks: [], inventories: [inventory, taken] }) })).toEqual(BOTH)
})

test('ADAPTER-81: an object that is written meanwhile is looked at again, with those who have it, before it is pruned', async () => {
  const later = { ...CORE, [CONFIG_MAP]: { ...object, metadata: { ...object.metadata, resourceVersion: '2' } } }
  expect(await pruneWith(later, { refused: 1 })).toEqual([CONFIG_MAP, ...BOTH])
  // By ten of them, one after the other.
  expect(await pruneWith(later, { refused: 20 })).toEqual(Array.from({ length: 10 }, () => CONFIG_MAP))
})

// ADAPTER-118, ADAPTER-122
test('which objects tasks of other namespaces have is read once, whatever field managers are on them, after all objects were read', async () => {
  const names = Array.from({ length: 20 }, (_, at) => `a${at}`)
  const orphaned = {
    ...inventory,
    spec: { ...inventory.spec, objects: names.map((name) => ({ ...entry, name, uid: name })) },
  }
  const elsewhere = {
    metadata: { name: 'other', namespace: 'm', uid: 'other', resourceVersion: '1' },
    spec: { ...inventory.spec, task: 'other', adapter: 'other', objects: [{ ...entry, name: 'a3', uid: 'a3' }] },
  }
  const answers: Record<string, object> = {
    ...CORE,
    ...listed({ inventories: [orphaned] }),
    [ALL_INVENTORIES]: { metadata: {}, items: [orphaned, elsewhere] },
    [TASK.replace('/n/', '/m/').replace(/dns$/, 'other')]: { metadata: { name: 'other', namespace: 'm' } },
    ...Object.fromEntries(
      names.map((name) => [
        CONFIG_MAP.replace(/a$/, name),
        { ...object, metadata: { ...object.metadata, name, uid: name } },
      ]),
    ),
  }
  const asked: string[] = []
  const request = async ({ path }: ApiRequest) => {
    asked.push(path)
    return answers[path] ?? Promise.reject(new ApiError({ kind: 'Status', code: 404, reason: 'NotFound' }))
  }
  const transport = { request } as unknown as Transport
  const [found] = await listOrphans({ transport, clock: systemClock, namespace: 'n', apiClient: undefined, signal })
  expect(found?.objects.map(({ entry: { name } }) => name)).toEqual(names.filter((name) => name !== 'a3'))
  expect(asked.filter((path) => path === ALL_INVENTORIES)).toHaveLength(1)
  expect(asked.findLastIndex((path) => path.includes('/configmaps/'))).toBeLessThan(asked.indexOf(ALL_INVENTORIES))
})
