/** Tasks of two namespaces that apply one object: it belongs to one of them, and stays until that one is done with it. On the real API server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import { muster } from '../cmd/run.ts'
import { type AdapterWorld, adapterWorld } from './world.ts'

/** Each with a HyperFleet API, a namespace and a manager of its own. */
let here: AdapterWorld
let there: AdapterWorld

beforeAll(async () => {
  ;[here, there] = await Promise.all([adapterWorld(), adapterWorld()])
  for (const world of [here, there]) await world.manager(undefined, { namespace: world.namespace })
})

afterAll(async () => {
  await here?.[Symbol.asyncDispose]()
  await there?.[Symbol.asyncDispose]()
})

const at = (name: string) => `/api/v1/namespaces/${here.namespace}/configmaps/${name}`
const uidOf = async (name: string) => (await here.object(at(name)))?.metadata.uid

/** A task for the clusters of one case, with one ConfigMap in the namespace of the first world. */
const declare = async (world: AdapterWorld, name: string, rest: DeepPartial<AdapterTaskSpec> = {}, data?: object) => {
  const metadata = { name: `common-${name}`, namespace: here.namespace }
  await world.declare(name, {
    selector: { matchLabels: { [name]: 'yes' } },
    resources: [
      {
        name: 'common',
        manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...(data && { data }) },
        discovery: { namespace: here.namespace, by_name: metadata.name },
      },
    ],
    ...rest,
  } as DeepPartial<AdapterTaskSpec>)
  await world.until(name, 'Working')
}

const create = async (world: AdapterWorld, name: string) => (await world.create(name, {}, { [name]: 'yes' })).id
const ready = (world: AdapterWorld, id: string) =>
  world.pulsedUntil(id, async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'))
const refused = (world: AdapterWorld, id: string, adapter: RegExp) =>
  world.pulsedUntil(id, async () => {
    const said = await world.call<{ items: { conditions: { type: string; message?: string }[] }[] }>(
      'GET',
      `/clusters/${id}/statuses`,
    )
    const health = said?.items.flatMap(({ conditions }) => conditions).find(({ type }) => type === 'Health')
    expect(health).toMatchObject({ status: 'False', reason: 'ApplyFailed', message: expect.stringMatching(adapter) })
  })
const remove = async (world: AdapterWorld, id: string) => {
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())
}

describe('ADAPTER-112: an object that a task of another namespace has', () => {
  test.each([
    ['under another name of the adapter', 'other', {}],
    ['under the same name of the adapter', 'same', { adapter: { name: 'twin' } }],
  ])('is not taken from it, nor deleted, and is free when that one is done: %s', async (_, name, rest) => {
    await declare(here, name, rest)
    await declare(there, name, { adapter: { name: `${name}-there` }, ...rest })
    const [first, second] = [await create(here, name), await create(there, name)]
    await ready(here, first)
    const applied = await here.object(at(`common-${name}`))
    await refused(there, second, new RegExp(`is applied by the adapter \\S+ of the namespace ${here.namespace}`))
    expect(await here.object(at(`common-${name}`))).toEqual(applied)
    await remove(there, second)
    expect(await uidOf(`common-${name}`)).toBe(applied?.metadata.uid)

    const third = await create(there, name)
    await refused(there, third, /is applied by the adapter/)
    await remove(here, first)
    expect(await uidOf(`common-${name}`)).not.toBe(applied?.metadata.uid)
    await ready(there, third)
    await remove(there, third)
    expect(await uidOf(`common-${name}`)).toBeUndefined()
  })

  test('which a task has left behind is taken over once it carries no field manager of that one', async () => {
    const tasks = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${here.namespace}/adaptertasks`
    await declare(here, 'kept')
    await ready(here, await create(here, 'kept'))
    await here.plane.rest('DELETE', `${tasks}/kept`)
    await declare(there, 'kept', { adapter: { name: 'kept-there' } })
    const id = await create(there, 'kept')
    await refused(there, id, /kubectl patch ConfigMap common-kept -n \S+ --type=merge -p '.*managedFields.*'/)
    await here.plane.rest('PATCH', at('common-kept'), { metadata: { managedFields: [{}] } })
    const uid = await uidOf('common-kept')
    await ready(there, id)

    const flags = [`--namespace=${here.namespace}`, `--kubeconfig=${here.plane.kubeconfig}`]
    const { output } = await muster(['adapter', 'orphans', '--prune', ...flags])
    expect(output).not.toContain('common-kept')
    expect(await uidOf('common-kept')).toBe(uid)
    await remove(there, id)
    expect(await uidOf('common-kept')).toBeUndefined()
  })
})

test('ADAPTER-113: a manager of all namespaces knows that the task of another one is gone, and takes over what that has left', async () => {
  const world = await adapterWorld()
  try {
    const everywhere = `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`
    await world.plane.rest('POST', everywhere, {
      metadata: { name: `adapters-${world.namespace}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'everything', namespace: world.namespace }],
    })
    await world.manager(await world.plane.kubeconfigFor('everything', world.namespace))
    await declare(here, 'moved')
    const first = await create(here, 'moved')
    await ready(here, first)
    await declare(world, 'moved')
    const id = await create(world, 'moved')
    await refused(world, id, /is applied by the adapter/)
    const uid = await uidOf('common-moved')
    const tasks = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${here.namespace}/adaptertasks`
    await here.plane.rest('DELETE', `${tasks}/moved`)
    await ready(world, id)
    expect(await uidOf('common-moved')).toBe(uid)
    await remove(world, id)
    expect(await uidOf('common-moved')).toBeUndefined()
    const left = await Array.fromAsync(world.kube.list(AdapterInventory, { namespace: world.namespace }))
    expect(left.flatMap(({ spec }) => spec.objects)).toEqual([])
  } finally {
    await world[Symbol.asyncDispose]()
  }
})

test('ADAPTER-114: what a release before has applied under a field manager without a namespace is the namespaced one’s alone', async () => {
  const former = { fieldManager: `muster-adapter-before-${here.namespace.slice(-8)}`, force: true }
  const manifest = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'common-before', namespace: here.namespace },
  }
  const transport = await here.plane.transport()
  try {
    await transport.request({
      method: 'PATCH',
      path: at('common-before'),
      contentType: 'application/apply-patch+yaml',
      query: former,
      body: { ...manifest, data: { stays: 'x', goes: 'x' } },
    })
  } finally {
    await transport.close()
  }
  await declare(here, 'before', {}, { stays: 'x' })
  const id = await create(here, 'before')
  await ready(here, id)
  const object = (await here.object(at('common-before'))) as unknown as {
    readonly data: object
    readonly metadata: { readonly managedFields: readonly { readonly manager: string }[] }
  }
  expect(object.data).toEqual({ stays: 'x' })
  expect(object.metadata.managedFields.map(({ manager }) => manager)).toEqual([
    `muster-adapter-${here.namespace}/before-${here.namespace.slice(-8)}`,
  ])
})
