/** What is pruned is judged again just before: a task or a resource may be there again since the list was made. */
import { expect, test } from 'vitest'
import type { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { ApiError } from '#operator/client/errors.ts'
import type { ApiRequest, Transport } from '#operator/client/transport.ts'
import { systemClock } from '#operator/index.ts'
import { pruneOrphans } from './orphans.ts'

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
const orphan = { inventory, why: 'TaskGone', held: undefined, objects: [{ entry, object }] } as const

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
  expect(await pruneWith(CORE)).toEqual(['/api/v1/namespaces/n/configmaps/a'])
})
