/** What is pruned is judged again just before: a task or a resource may be there again since the list was made. */
import { expect, test } from 'vitest'
import type { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { ApiError } from '#operator/client/errors.ts'
import type { ApiRequest, Transport } from '#operator/client/transport.ts'
import { systemClock } from '#operator/index.ts'
import { isProofOf, nextToGo, pruneOrphans } from './orphans.ts'

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
  generation: 1,
  propagationPolicy: 'Background',
} as const
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n', uid: 'u' } }
const orphan = { inventory, why: 'TaskGone', held: undefined, objects: [{ entry, object }], proves: [] } as const

const pruneWith = async (answers: Readonly<Record<string, object>>) => {
  const deleted: string[] = []
  const transport = {
    async request({ method, path }: ApiRequest) {
      if (method === 'DELETE') deleted.push(path)
      const answer = method === 'DELETE' ? {} : answers[path]
      if (answer === undefined) throw new ApiError({ kind: 'Status', code: 404, reason: 'NotFound' })
      return answer
    },
  } as unknown as Transport
  await pruneOrphans([orphan], { transport, clock: systemClock, apiClient: undefined, signal })
  return deleted
}

const CORE = { '/api/v1': { resources: [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true }] } }

test('ADAPTER-81: what a task has is not pruned when the task is there again, and is while it is gone', async () => {
  expect(await pruneWith({ ...CORE, [TASK]: { metadata: { name: 'dns', namespace: 'n' } } })).toEqual([])
  expect(await pruneWith(CORE)).toEqual([
    '/api/v1/namespaces/n/configmaps/a',
    '/apis/hyperfleet.redhat.com/v1alpha1/namespaces/n/adapterinventories/dns-1',
  ])
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
