/** Tasks of two namespaces that apply one object: it belongs to one of them, and stays until that one is done with it. On the real API server. */
import { readFile } from 'node:fs/promises'
import { loadAll } from 'js-yaml'
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
  for (const world of [here, there]) await world.manager()
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
const refused = (world: AdapterWorld, id: string, message: RegExp, reason = 'ApplyFailed') =>
  world.pulsedUntil(id, async () => {
    const said = await world.call<{ items: { conditions: { type: string; message?: string }[] }[] }>(
      'GET',
      `/clusters/${id}/statuses`,
    )
    const health = said?.items.flatMap(({ conditions }) => conditions).find(({ type }) => type === 'Health')
    expect(health).toMatchObject({ status: 'False', reason, message: expect.stringMatching(message) })
  })
const inventories = async (world: AdapterWorld, task: string) => {
  const all = await Array.fromAsync(world.kube.list(AdapterInventory, { namespace: world.namespace }))
  return all.filter(({ spec }) => spec.task === task).flatMap(({ spec }) => spec.objects)
}
const remove = async (world: AdapterWorld, id: string) => {
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())
}

const applyAs = async (fieldManager: string, name: string, data: object, annotations = {}): Promise<void> => {
  const transport = await here.plane.transport()
  const metadata = { name, namespace: here.namespace, annotations }
  try {
    await transport.request({
      method: 'PATCH',
      path: at(name),
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager, force: true },
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data },
    })
  } finally {
    await transport.close()
  }
}

const managersOn = async (name: string): Promise<readonly string[]> => {
  const { metadata } = ((await here.object(at(name))) ?? {}) as {
    readonly metadata?: { readonly managedFields?: readonly { readonly manager: string }[] }
  }
  return (metadata?.managedFields ?? []).map(({ manager }) => manager)
}

describe('ADAPTER-112: an object that a task of another namespace has', () => {
  test.each([
    ['under another name of the adapter', 'other', {}],
    ['under the same name of the adapter', 'same', { adapter: { name: 'twin' } }],
  ])(
    'attack: is named by a task elsewhere, which neither takes nor deletes it; it is free when the first is done: %s',
    async (_, name, rest) => {
      await declare(here, name, rest)
      await declare(there, name, { adapter: { name: `${name}-there` }, ...rest })
      const [first, second] = [await create(here, name), await create(there, name)]
      await ready(here, first)
      const applied = await here.object(at(`common-${name}`))
      await refused(there, second, new RegExp(`the adapter \\S+ of the namespace ${here.namespace} applies it`))
      expect(await here.object(at(`common-${name}`))).toEqual(applied)
      await remove(there, second)
      expect(await uidOf(`common-${name}`)).toBe(applied?.metadata.uid)

      const third = await create(there, name)
      await refused(there, third, /of the namespace \S+ applies it/)
      await remove(here, first)
      expect(await uidOf(`common-${name}`)).not.toBe(applied?.metadata.uid)
      await ready(there, third)
      await remove(there, third)
      expect(await uidOf(`common-${name}`)).toBeUndefined()
    },
  )

  test('attack: or seems to have by a field manager that an editor wrote, where its inventories may not be read: nothing is deleted, and nothing left, without a word', async () => {
    await declare(here, 'both')
    const id = await create(here, 'both')
    await ready(here, id)
    await applyAs('muster-adapter-elsewhere/other', 'common-both', { colour: 'red' })
    const uid = await uidOf('common-both')
    await here.call('DELETE', `/clusters/${id}`)
    await refused(here, id, /list adapterinventories and get adaptertasks in elsewhere, or/, 'DeleteFailed')
    expect(await uidOf('common-both')).toBe(uid)
    await here.plane.rest('PATCH', at('common-both'), { metadata: { managedFields: [{}] } })
    await here.pulsedUntil(id, async () => expect(await here.cluster(id)).toBeUndefined())
    expect(await uidOf('common-both')).toBeUndefined()
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

describe('ADAPTER-113: a manager that may read other namespaces', () => {
  let all: AdapterWorld

  beforeAll(async () => {
    all = await adapterWorld()
    // As admin, like the tasks of this world.
    await all.manager(await all.plane.kubeconfigFor('everything', all.namespace))
  })

  afterAll(async () => {
    await all?.[Symbol.asyncDispose]()
  })

  test('takes over what a deleted task has left there', async () => {
    await declare(here, 'moved')
    await ready(here, await create(here, 'moved'))
    await declare(all, 'moved')
    const id = await create(all, 'moved')
    await refused(all, id, /of the namespace \S+ applies it/)
    const uid = await uidOf('common-moved')
    const tasks = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${here.namespace}/adaptertasks`
    await here.plane.rest('DELETE', `${tasks}/moved`)
    await ready(all, id)
    expect(await uidOf('common-moved')).toBe(uid)
    await remove(all, id)
    expect(await uidOf('common-moved')).toBeUndefined()
    await expect.poll(() => inventories(all, 'moved')).toEqual([])
  })

  test('leaves an object to a task there that has it too', async () => {
    await declare(all, 'joint')
    const id = await create(all, 'joint')
    await ready(all, id)
    await declare(here, 'joint', { adapter: { name: 'joint-here' } })
    const other = await create(here, 'joint')
    await refused(here, other, /of the namespace \S+ applies it/)
    const manager = `muster-adapter-${here.namespace}/joint-here`
    // As its own request would, whose answer was lost.
    const [own] = await Array.fromAsync(here.kube.list(AdapterInventory, { namespace: here.namespace })).then((found) =>
      found.filter(({ spec }) => spec.task === 'joint'),
    )
    await applyAs(manager, 'common-joint', { colour: 'red' }, { 'muster.dev/inventory': own?.metadata.uid ?? '' })
    const uid = await uidOf('common-joint')
    await remove(all, id)
    expect([await uidOf('common-joint'), await managersOn('common-joint')]).toEqual([uid, [manager]])
    await expect.poll(() => inventories(all, 'joint')).toEqual([])
    await ready(here, other)
    await remove(here, other)
    expect(await uidOf('common-joint')).toBeUndefined()
  })

  // ADAPTER-116
  test('attack: deletes an object that carries the field manager of one there that was refused, and has only meant to apply it', async () => {
    await declare(all, 'refused')
    const id = await create(all, 'refused')
    await ready(all, id)
    await declare(here, 'refused', { adapter: { name: 'refused-here' } })
    await refused(here, await create(here, 'refused'), /of the namespace \S+ applies it/)
    const uid = await uidOf('common-refused')
    await applyAs(`muster-adapter-${here.namespace}/refused-here`, 'common-refused', { colour: 'red' })
    await remove(all, id)
    expect(await uidOf('common-refused')).not.toBe(uid)
  })

  test('deletes an object that only carries the field manager of one there', async () => {
    await declare(all, 'forged')
    const id = await create(all, 'forged')
    await ready(all, id)
    await applyAs(`muster-adapter-${here.namespace}/other`, 'common-forged', { colour: 'red' })
    await remove(all, id)
    expect(await uidOf('common-forged')).toBeUndefined()
  })
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
  expect(((await here.object(at('common-before'))) as { data?: object } | undefined)?.data).toEqual({ stays: 'x' })
  expect(await managersOn('common-before')).toEqual([
    `muster-adapter-${here.namespace}/before-${here.namespace.slice(-8)}`,
  ])
})

/** The kubeconfig of a person that may do everything in the namespace of the world, and nothing elsewhere. */
const personOf = async ({ plane, namespace }: AdapterWorld): Promise<string> => {
  const metadata = { name: 'person' }
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  await plane.rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata })
  await plane.rest('POST', `${rbac}/roles`, {
    metadata,
    rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
  })
  await plane.rest('POST', `${rbac}/rolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'person' },
    subjects: [{ kind: 'ServiceAccount', name: 'person', namespace }],
  })
  return plane.kubeconfigFor('person', namespace)
}

// ADAPTER-117
test('orphans that may be of a task in a namespace which the person may not read are listed as that, and the rest goes', async () => {
  await declare(here, 'clear')
  await declare(here, 'unclear')
  for (const name of ['clear', 'unclear']) await ready(here, await create(here, name))
  await applyAs('muster-adapter-kube-system/other', 'common-unclear', { colour: 'red' })
  const base = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${here.namespace}`
  for (const name of ['clear', 'unclear']) await here.plane.rest('DELETE', `${base}/adaptertasks/${name}`)
  const flags = [`--namespace=${here.namespace}`, `--kubeconfig=${await personOf(here)}`]
  const { output, code } = await muster(['adapter', 'orphans', '--prune', ...flags])
  expect(output).toContain("common-unclear  may be a task's of the namespace kube-system, which you may not read")
  expect(output).toMatch(/1 may be of tasks in kube-system, and were left alone: ask for the right/)
  expect(code).toBe(1)
  expect(await uidOf('common-clear')).toBeUndefined()
  expect(await uidOf('common-unclear')).toBeDefined()
})

// ADAPTER-116
describe('attack: under the name of an adapter that no task has, a tenant writes what says whose an object is, and its fields', () => {
  const data = { colour: 'red' }
  const forge = async (contentType: string, fieldManager: string, name: string): Promise<void> => {
    const metadata = { name, namespace: here.namespace, labels: { 'muster.dev/adapter': 'forged' } }
    const isApply = contentType === 'application/apply-patch+yaml'
    const transport = await here.plane.transport()
    try {
      await transport.request({
        method: 'PATCH',
        path: at(name),
        contentType,
        query: { fieldManager, ...(isApply && { force: true }) },
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { colour: 'blue' } },
      })
    } finally {
      await transport.close()
    }
  }

  test.each([
    ['applied', 'pinned', 'application/apply-patch+yaml', 'muster-adapter-gone'],
    ['by an update', 'updated', 'application/merge-patch+json', 'muster-adapter-updated-too'],
  ])(
    '%s: the two tasks that have it put it right, and delete it with the last of them',
    async (_, name, type, manager) => {
      await declare(here, name, {}, data)
      await here.declare(`${name}-too`, {
        adapter: { name: `${name}-too` },
        selector: { matchLabels: { [`${name}-too`]: 'yes' } },
        resources: [
          {
            name: 'common',
            manifest: {
              apiVersion: 'v1',
              kind: 'ConfigMap',
              metadata: { name: `common-${name}`, namespace: here.namespace },
              data,
            },
            discovery: { namespace: here.namespace, by_name: `common-${name}` },
          },
        ],
      } as DeepPartial<AdapterTaskSpec>)
      await here.until(`${name}-too`, 'Working')
      const { id } = await here.create(name, {}, { [name]: 'yes', [`${name}-too`]: 'yes' })
      await ready(here, id)
      await forge(type, manager, `common-${name}`)
      await here.pulsedUntil(id, async () => {
        expect(await here.object(at(`common-${name}`))).toMatchObject({ data })
        const { items } = (await here.call<{ items: { conditions: { type: string; status: string }[] }[] }>(
          'GET',
          `/clusters/${id}/statuses`,
        )) ?? { items: [] }
        const health = items.flatMap(({ conditions }) => conditions.filter(({ type }) => type === 'Health'))
        expect(health.map(({ status }) => status)).toEqual(['True', 'True'])
      })
      await forge(type, manager, `common-${name}`)
      await remove(here, id)
      expect(await uidOf(`common-${name}`)).toBeUndefined()
    },
  )
})

// ADAPTER-113
test('attack: a tenant writes the field manager of a namespace on an object; the delivered manager may read there, and deletes it', async () => {
  await declare(here, 'tenant')
  const id = await create(here, 'tenant')
  await ready(here, id)
  await applyAs('muster-adapter-kube-system/other', 'common-tenant', { colour: 'red' })
  await here.call('DELETE', `/clusters/${id}`)
  await refused(here, id, /list adapterinventories and get adaptertasks in kube-system, or/, 'DeleteFailed')
  const [role] = loadAll(await readFile('kustomize/base/rbac/inventories.yaml', 'utf8')) as [{ rules: object[] }]
  const name = `inventories-${here.namespace}`
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  await here.plane.rest('POST', `${rbac}/clusterroles`, { metadata: { name }, rules: role.rules })
  await here.plane.rest('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: 'hyperfleet-adapter', namespace: here.namespace }],
  })
  await here.pulsedUntil(id, async () => expect(await here.cluster(id)).toBeUndefined())
  expect(await uidOf('common-tenant')).toBeUndefined()
})
