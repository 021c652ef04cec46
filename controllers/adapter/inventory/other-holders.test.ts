/** Which other tasks count as having an object, and what the inventories of a task survive. */
import { describe, expect, test } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { NetworkError } from '#operator/client/errors.ts'
import type { ApiRequest, Transport } from '#operator/client/transport.ts'
import { manualClock } from '#test/harness/index.ts'
import { MemoryCluster } from '#test/worlds/adapter/memory-cluster.ts'
import type { JsonObject } from '../task/task.ts'
import { InventoryStore } from './inventory-store.ts'
import { OtherHolders } from './other-holders.ts'

const { signal } = new AbortController()
const API = '/apis/hyperfleet.redhat.com/v1alpha1/namespaces/n'
const OBJECT = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'n', uid: 'u' } }
const ENTRY = { resource: 'r', apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'x', generation: 1 }

/** Another task, whose inventory has the object as it says. */
const besides = (uid?: string) => {
  const cluster = new MemoryCluster()
  const asked: string[] = []
  const inventory = {
    kind: 'AdapterInventory',
    metadata: { name: 'other', namespace: 'n', uid: 'mark', resourceVersion: '1' },
    spec: { task: 'other', adapter: 'other', resourceId: 'c1', objects: [{ ...ENTRY, ...(uid && { uid }) }] },
  }
  cluster.stored.set(`${API}/adapterinventories/other`, inventory)
  cluster.stored.set(`${API}/adaptertasks/other`, { kind: 'AdapterTask', metadata: { name: 'other' } })
  const request = async (sent: ApiRequest) => {
    asked.push(`${sent.method} ${sent.path.slice(API.length + 1)}`)
    return cluster.request(sent)
  }
  const clock = manualClock()
  const api = createApi({ request } as unknown as Transport)
  const others = new OtherHolders({ api, namespace: 'n', task: 'own', clock })
  const uids = () => (cluster.stored.get(`${API}/adapterinventories/other`) as typeof inventory).spec.objects
  return { others, asked, clock, cluster, uids }
}

const appliedBy = (manager: string, annotations = {}) => ({
  ...OBJECT,
  metadata: { ...OBJECT.metadata, annotations, managedFields: [{ manager, operation: 'Apply' }] },
})
const marked = (mark: string) => async () => appliedBy('x', { 'muster.dev/inventory': mark })
const OTHER = ['muster-adapter-n/other']
const unread = () => Promise.reject(new Error('not to be read'))

describe('ADAPTER-96: another task has an object', () => {
  test('when the API server has answered to it so', async () => {
    expect(await besides('u').others.find(OBJECT, OTHER, unread, signal)).toBe('other')
  })
  test('when the object carries the mark of its inventory, as long as the answer is not written down', async () => {
    expect(await besides().others.find(OBJECT, OTHER, marked('mark'), signal)).toBe('other')
  })
  test('but not because it has meant to apply it', async () => {
    expect(await besides().others.find(OBJECT, OTHER, marked('forged'), signal)).toBeUndefined()
    expect(await besides().others.handOver(appliedBy('muster-adapter-forged'), signal)).toBe(false)
  })
  test('but not under the field manager of another one, or of none', async () => {
    for (const manager of ['muster-adapter-gone', 'muster-adapter-m/other', 'kubectl']) {
      expect(await besides('u').others.find(OBJECT, [manager], unread, signal)).toBeUndefined()
      expect(await besides().others.handOver(appliedBy(manager), signal)).toBe(false)
    }
  })
  // ADAPTER-122
  test('before a deletion by the mark of its inventory, whatever field managers are on it', async () => {
    expect(await besides().others.handOver(appliedBy('any', { 'muster.dev/inventory': 'mark' }), signal)).toBe(true)
    expect(await besides().others.handOver(appliedBy('any', { 'muster.dev/inventory': 'another' }), signal)).toBe(false)
  })
  test('before a deletion by its field manager, and is told the uid', async () => {
    for (const manager of ['muster-adapter-n/other', 'muster-adapter-other']) {
      const { others, uids } = besides()
      expect(await others.handOver(appliedBy(manager), signal)).toBe(true)
      expect(uids()).toMatchObject([{ name: 'x', uid: 'u' }])
    }
  })
  // ADAPTER-122
  test('and before it is left to that one, all inventories of the own task say so, also those that a run has not written yet', async () => {
    const { others, cluster, clock } = besides('u')
    const late = { task: 'own', adapter: 'own', resourceId: 'c2', objects: [{ ...ENTRY, uid: 'u' }] }
    cluster.stored.set(`${API}/adapterinventories/late`, {
      kind: 'AdapterInventory',
      metadata: { name: 'late', namespace: 'n', uid: 'late', resourceVersion: '2' },
      spec: late,
    })
    const [left] = await Promise.all([others.handOver(appliedBy('any'), signal), clock.advance(1_000)])
    expect(left).toBe(true)
    expect(cluster.stored.get(`${API}/adapterinventories/late`)).toMatchObject({
      spec: { objects: [{ hold: 'Leaving' }] },
    })
  })
  test('which conflicts within a second cost one reading', async () => {
    const { others, asked, clock } = besides()
    const listings = () => asked.filter((one) => one === 'GET adapterinventories').length
    for (let at = 0; at < 5; at++) await others.find(OBJECT, OTHER, marked('forged'), signal)
    expect(listings()).toBe(1)
    await clock.advance(1_000)
    await others.find(OBJECT, OTHER, marked('forged'), signal)
    expect(listings()).toBe(2)
  })
})

describe('ADAPTER-113: a task of another namespace has an object', () => {
  const elsewhere = (
    uid?: string,
    managers = ['muster-adapter-elsewhere/dns'],
    object: object | undefined = OBJECT,
  ) => {
    const cluster = new MemoryCluster()
    const base = API.replace(/n$/, 'elsewhere')
    const inventory = {
      kind: 'AdapterInventory',
      metadata: { name: 'one', namespace: 'elsewhere', uid: 'mark', resourceVersion: '1' },
      spec: { task: 'dns', adapter: 'dns', resourceId: 'c1', objects: [{ ...ENTRY, ...(uid && { uid }) }] },
    }
    cluster.stored.set(`${base}/adapterinventories/one`, inventory)
    cluster.stored.set(`${base}/adaptertasks/dns`, { kind: 'AdapterTask', metadata: { name: 'dns' } })
    const api = createApi({ request: (sent: ApiRequest) => cluster.request(sent) } as unknown as Transport)
    const others = new OtherHolders({ api, namespace: 'n', task: 'own', clock: manualClock() })
    return others.findElsewhere(OBJECT, managers, async () => object as JsonObject | undefined, signal)
  }

  test('when its inventory has this one, or may have it, as the answer was lost', async () => {
    expect(await elsewhere('u')).toMatchObject({ isCertain: true })
    expect(await elsewhere(undefined, undefined, await marked('mark')())).toMatchObject({ isCertain: true })
  })
  // ADAPTER-118
  test('attack: however many field managers of its namespace a writer puts on the object, for one reading', async () => {
    const many = Array.from({ length: 1_000 }, (_, at) => `muster-adapter-elsewhere/forged-${at}`)
    expect((await elsewhere('u', many))?.description).toContain('the adapter dns of the namespace elsewhere applies it')
    expect(await elsewhere('an earlier one', many)).toBeUndefined()
  })
  // ADAPTER-116
  test('but not when it was refused, and has meant to apply it', async () => {
    expect(await elsewhere(undefined, undefined, await marked('another')())).toBeUndefined()
  })
  // ADAPTER-116
  test('but not for one of the same name that was there before', async () => {
    expect(await elsewhere('an earlier one')).toBeUndefined()
  })
})

describe('ADAPTER-98: an inventory whose creation was not answered', () => {
  const store = () => {
    const cluster = new MemoryCluster()
    let isCut = true
    const request = async (sent: ApiRequest) => {
      const answer = cluster.request(sent)
      if (sent.method !== 'POST' || !isCut) return answer
      isCut = false
      throw new NetworkError('POST', new Error('cut'))
    }
    const inventories = new InventoryStore({
      transport: { request } as unknown as Transport,
      namespace: 'n',
      task: 'own',
      adapter: 'own',
      serviceAccountName: 'own',
      keepsEmpty: false,
      clock: manualClock(),
    })
    const event = { id: 'c1', kind: 'Cluster' }
    return { inventories, cluster, event }
  }
  const entry = { ...ENTRY, propagationPolicy: 'Background' as const }

  test('is written by the next run', async () => {
    const { inventories, event } = store()
    await expect(inventories.of(event).intend([entry], signal)).rejects.toThrow("can't be written")
    await inventories.of(event).save(signal)
    inventories.forget('c1')
    expect(await inventories.of(event).intend([entry], signal)).toMatch(/^uid-/)
  })
  test('is looked for when the resource is left, and goes', async () => {
    const { inventories, event, cluster } = store()
    await expect(inventories.of(event).intend([entry], signal)).rejects.toThrow("can't be written")
    await inventories.of(event).save(signal)
    inventories.forget('c1')
    expect(inventories.owners).toHaveLength(1)
    const inventory = inventories.of(event)
    await inventory.refresh(signal)
    inventory.drop(inventory.entries.keys())
    await inventory.save(signal, true)
    expect([cluster.stored.size, inventories.owners]).toEqual([0, []])
  })
})
