/**
 * The edge cases of a deletion that concern the adapter, end to end, each by its rule. What the API decides alone stands in
 * test/integration/hyperfleet-api/deletion.test.ts; what takes Jobs in samples.test.ts, what takes killed processes in processes.test.ts.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import type { RequestProxy } from '#test/harness/index.ts'
import { type ApiFront, apiFront } from './api-front.ts'
import { type AdapterWorld, adapterWorld } from './world.ts'

let world: AdapterWorld
let front: ApiFront
/** Between the manager and the API server. */
let proxy: RequestProxy

const SETTLED = { timeout: 60_000, interval: 100 }

beforeAll(async () => {
  world = await adapterWorld()
  front = await apiFront(world.url)
  await limitedAccount()
  proxy = await world.plane.proxy()
  const kubeconfig = await world.plane.kubeconfigFor('hyperfleet-adapter', world.namespace, proxy.server)
  await world.manager(kubeconfig, { httpTargets: [front.url] })
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await front?.stop()
  await proxy?.[Symbol.asyncDispose]()
})

/** May delete ConfigMaps, but no Secrets. */
const limitedAccount = async (): Promise<void> => {
  const { plane, namespace } = world
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  const verbs = ['get', 'list', 'watch', 'create', 'patch']
  const metadata = { name: 'limited' }
  await plane.rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata })
  await plane.rest('POST', `${rbac}/roles`, {
    metadata,
    rules: [
      { apiGroups: [''], resources: ['configmaps'], verbs: [...verbs, 'delete'] },
      { apiGroups: [''], resources: ['secrets'], verbs },
    ],
  })
  await plane.rest('POST', `${rbac}/rolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'limited' },
    subjects: [{ kind: 'ServiceAccount', name: 'limited', namespace }],
  })
}

/** A ConfigMap of a case, or another kind of v1, named after it, the resource and the cluster. */
const resource = (edge: string, name: string, rest: object = {}, kind = 'ConfigMap') => ({
  name,
  manifest: {
    apiVersion: 'v1',
    kind,
    metadata: { name: `${edge}-${name}-{{ .clusterId }}`, namespace: world.namespace },
  },
  discovery: { namespace: world.namespace, by_name: `${edge}-${name}-{{ .clusterId }}` },
  ...rest,
})

/** A task that works only on clusters of its own case. */
const declare = async (edge: string, spec: object): Promise<void> => {
  const selector = { matchLabels: { edge } }
  const params = [{ name: 'clusterId', source: 'event.id', required: true }]
  await world.declare(edge, { params, selector, ...spec } as DeepPartial<AdapterTaskSpec>)
  await world.until(edge, 'Working')
}

const create = async (edge: string, name = edge): Promise<string> => (await world.create(name, {}, { edge })).id

/** Created, and done with by the task of its case. */
const ready = async (edge: string): Promise<string> => {
  const id = await create(edge)
  await world.pulsedUntil(id, async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'))
  return id
}

const gone = (id: string) => vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), SETTLED)
const goneByPulses = (id: string) => world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())
const says = (id: string, edge: string, ...said: string[]) =>
  world.pulsedUntil(id, async () => expect(await world.reported(id, edge)).toEqual(expect.arrayContaining(said)))

const path = (edge: string, name: string, id: string, plural = 'configmaps') =>
  `/api/v1/namespaces/${world.namespace}/${plural}/${edge}-${name}-${id}`
const isThere = async (...args: Parameters<typeof path>) => (await world.object(path(...args))) !== undefined

const hold = (...args: Parameters<typeof path>) =>
  world.plane.rest('PATCH', path(...args), { metadata: { finalizers: ['example.com/hold'] } })
const release = (...args: Parameters<typeof path>) =>
  world.plane.rest('PATCH', path(...args), { metadata: { finalizers: null } })

test('ADAPTER-39: a resource that is gone already: its end is the end of the deletion', async () => {
  await declare('already', { resources: [resource('already', 'a')] })
  const id = await ready('already')
  await world.call('DELETE', `/clusters/${id}`)
  await world.plane.rest('DELETE', path('already', 'a', id))
  await goneByPulses(id)
  expect(await isThere('already', 'a', id)).toBe(false)
})

test('ADAPTER-107: an object that the API server says is gone is not asked about again, one that is held is', async () => {
  await declare('answered', { resources: [resource('answered', 'first'), resource('answered', 'held')] })
  const id = await ready('answered')
  await hold('answered', 'held', id)
  const asked = (name: string) =>
    proxy
      .requests()
      .filter((request) => request.path.split('?')[0] === path('answered', name, id))
      .map(({ method }) => method)
  const before = { first: asked('first').length, held: asked('held').length }
  await world.call('DELETE', `/clusters/${id}`)
  // A pulse that comes meanwhile looks once more.
  await vi.waitFor(() => expect(asked('held').slice(before.held).join()).toMatch(/^(GET,)+DELETE,GET/), SETTLED)
  await release('answered', 'held', id)
  await goneByPulses(id)
  const ofFirst = asked('first').slice(before.first)
  expect(ofFirst.at(-1)).toBe('DELETE')
  expect(ofFirst.filter((method) => method === 'DELETE')).toHaveLength(1)
})

test('ADAPTER-40: a DELETE that is refused: the siblings go, the record stays and names the adapter that it waits for, and why', async () => {
  const after: string[] = []
  await declare('refused', {
    serviceAccountName: 'limited',
    resources: [
      resource('refused', 'secret', { delete_options: { after } }, 'Secret'),
      resource('refused', 'config', { delete_options: { after } }),
    ],
  })
  const id = await ready('refused')
  await world.call('DELETE', `/clusters/${id}`)
  await says(id, 'refused', 'Applied True Deleting', 'Health False Forbidden', 'Finalized False AdapterUnhealthy')
  expect([await isThere('refused', 'config', id), await isThere('refused', 'secret', id, 'secrets')]).toEqual([
    false,
    true,
  ])
  const waiting = (await world.cluster(id))?.status.conditions.find(({ type }) => type === 'Ready')
  expect(waiting).toMatchObject({ status: 'False' })
  expect(waiting?.message).toContain('refused-')

  await world.plane.rest('DELETE', path('refused', 'secret', id, 'secrets'))
  await goneByPulses(id)
})

test('ADAPTER-41: stuck behind a foreign finalizer: what comes later in the order is not touched, and its release alone goes on', async () => {
  await declare('stuck', { resources: [resource('stuck', 'parent'), resource('stuck', 'child')] })
  const id = await ready('stuck')
  await hold('stuck', 'child', id)
  await world.call('DELETE', `/clusters/${id}`)
  await says(id, 'stuck', 'Applied True Deleting', 'Health True Healthy')
  await vi.waitFor(async () => expect((await world.task('stuck')).status).toMatchObject({ deleting: 1 }), SETTLED)
  expect((await world.object(path('stuck', 'parent', id)))?.metadata.deletionTimestamp).toBeUndefined()
  await release('stuck', 'child', id)
  await gone(id)
  expect(await isThere('stuck', 'parent', id)).toBe(false)
})

test('ADAPTER-38: objects of several generations: all of them go', async () => {
  const labels = { generations: '{{ .clusterId }}' }
  await declare('generations', {
    resources: [
      {
        name: 'each',
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: {
            name: 'generations-{{ .resource.generation }}-{{ .clusterId }}',
            namespace: world.namespace,
            labels,
          },
        },
        discovery: { namespace: world.namespace, by_selectors: { label_selector: labels } },
      },
    ],
  })
  const id = await ready('generations')
  await hold('generations', '1', id)
  await world.call('PATCH', `/clusters/${id}`, { spec: { region: 'eu' } })
  await world.pulsedUntil(id, async () => expect(await isThere('generations', '2', id)).toBe(true))
  expect(await isThere('generations', '1', id)).toBe(true)
  await world.call('DELETE', `/clusters/${id}`)
  await says(id, 'generations', 'Applied True Deleting')
  await release('generations', '1', id)
  await goneByPulses(id)
  expect([await isThere('generations', '1', id), await isThere('generations', '2', id)]).toEqual([false, false])
})

test('ADAPTER-49: deleted while the adapter is still creating it: nothing of it is left', async () => {
  await declare('hasty', { resources: [resource('hasty', 'a'), resource('hasty', 'b')] })
  const id = await create('hasty')
  await world.pulse(id)
  await world.call('DELETE', `/clusters/${id}`)
  await goneByPulses(id)
  expect([await isThere('hasty', 'a', id), await isThere('hasty', 'b', id)]).toEqual([false, false])
})

test('ADAPTER-11: the event is acknowledged and the report is lost: the next pulse repairs it', async () => {
  await declare('lost', { hyperfleetAPI: { url: front.url }, resources: [resource('lost', 'a')] })
  const id = await ready('lost')
  let lost = 0
  front.decide(({ method, path: at, body }) => {
    if (lost > 0 || method !== 'PUT' || !at.includes(id) || !body.includes('CleanupConfirmed')) return 'pass'
    lost++
    return { status: 200 }
  })
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulse(id, 'Deleting')
  await vi.waitFor(() => expect(lost).toBe(1), SETTLED)
  expect(await isThere('lost', 'a', id)).toBe(false)
  expect(await world.cluster(id)).toBeDefined()
  await world.pulse(id)
  await gone(id)
})

test.each([
  ['a cycle', 'cycle', ['b'], ['a'], 'InvalidDeletionOrder'],
  ['an unknown name', 'unknown', ['nobody'], [], 'InvalidDeletionConfig'],
])(
  '(12) %s in after: the task says so, what lives is looked after, nothing is deleted; corrected, it goes',
  async (_, edge, a, b, reason) => {
    const good = [resource(edge, 'a'), resource(edge, 'b')]
    const bad = [
      resource(edge, 'a', { delete_options: { after: a } }),
      resource(edge, 'b', { delete_options: { after: b } }),
    ]
    await declare(edge, { resources: good })
    const [leaving, staying] = [await ready(edge), await create(edge, `${edge}-staying`)]
    await world.change(edge, { resources: bad })
    const { status } = await world.until(edge, 'InvalidTask')
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toMatch(
      /^resources\[0\]\.delete_options\.after: .*; nothing is deleted until it is corrected$/,
    )
    await says(staying, edge, 'Applied True Applied', 'Health True Healthy')
    await world.call('DELETE', `/clusters/${leaving}`)
    await says(leaving, edge, 'Applied True Deleting', `Health False ${reason}`)
    expect([await isThere(edge, 'a', leaving), await isThere(edge, 'b', leaving)]).toEqual([true, true])
    await world.change(edge, { resources: good })
    await goneByPulses(leaving)
    expect([await isThere(edge, 'a', leaving), await isThere(edge, 'b', leaving)]).toEqual([false, false])
  },
)

/** An object of another owner that belongs to the task's one. */
const dependant = async (edge: string, id: string): Promise<void> => {
  const owner = await world.object(path(edge, 'owner', id))
  const { name = '', uid = '' } = owner?.metadata ?? {}
  await world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/configmaps`, {
    metadata: {
      name: `${edge}-dependant-${id}`,
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, blockOwnerDeletion: true }],
    },
  })
}

test('ADAPTER-43: Orphan: it is not waited for, and what belongs to it stays', async () => {
  await declare('orphan', {
    resources: [resource('orphan', 'owner', { delete_options: { propagation_policy: 'Orphan' } })],
  })
  const id = await ready('orphan')
  await dependant('orphan', id)
  await hold('orphan', 'owner', id)
  await world.call('DELETE', `/clusters/${id}`)
  await goneByPulses(id)
  expect(await isThere('orphan', 'owner', id)).toBe(true)
  await release('orphan', 'owner', id)
  await vi.waitFor(async () => expect(await isThere('orphan', 'owner', id)).toBe(false), SETTLED)
  const left = await world.object(path('orphan', 'dependant', id))
  expect(left?.metadata.deletionTimestamp).toBeUndefined()
  expect(left?.metadata.ownerReferences ?? []).toEqual([])
})

test('ADAPTER-43: Foreground: it waits until everything that belongs to it is gone', async () => {
  await declare('foreground', {
    resources: [resource('foreground', 'owner', { delete_options: { propagation_policy: 'Foreground' } })],
  })
  const id = await ready('foreground')
  await dependant('foreground', id)
  await hold('foreground', 'dependant', id)
  await world.call('DELETE', `/clusters/${id}`)
  await says(id, 'foreground', 'Applied True Deleting')
  expect(await world.cluster(id)).toBeDefined()
  expect(await isThere('foreground', 'owner', id)).toBe(true)
  await release('foreground', 'dependant', id)
  await goneByPulses(id)
  expect([await isThere('foreground', 'owner', id), await isThere('foreground', 'dependant', id)]).toEqual([
    false,
    false,
  ])
})

test('ADAPTER-44: preconditions that are not met while deleting: nothing is deleted, the record stays and says so; once met, it goes', async () => {
  await declare('unmet', { resources: [resource('unmet', 'a')] })
  const id = await ready('unmet')
  await world.change('unmet', { preconditions: [{ name: 'open', expression: 'resource.name == "somebody else"' }] })
  await world.call('DELETE', `/clusters/${id}`)
  await says(id, 'unmet', 'Applied True Deleting', 'Health False PreconditionNotMet')
  expect((await world.object(path('unmet', 'a', id)))?.metadata.deletionTimestamp).toBeUndefined()
  await world.change('unmet', { preconditions: null })
  await goneByPulses(id)
  expect(await isThere('unmet', 'a', id)).toBe(false)
})

test('ADAPTER-49: the same name again while the first one is held: two of one name, and the end of the first is not the end of the second', async () => {
  await declare('again', { resources: [resource('again', 'a')] })
  const first = await ready('again')
  await hold('again', 'a', first)
  await world.call('DELETE', `/clusters/${first}`)
  await says(first, 'again', 'Applied True Deleting')
  const second = await ready('again')
  expect(second).not.toBe(first)
  await release('again', 'a', first)
  await gone(first)
  expect((await world.cluster(second))?.status.phase).toBe('Ready')
  expect(await isThere('again', 'a', second)).toBe(true)
})
