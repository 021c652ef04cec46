/** Nothing that a task has applied is left behind, and nothing else is touched: on the real API server and API. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import { muster } from '../cmd/run.ts'
import { type ApiFate, type ApiFront, apiFront } from './api-front.ts'
import { type AdapterWorld, adapterWorld, type Cluster, type Manager } from './world.ts'

let world: AdapterWorld
let front: ApiFront
let manager: Manager

const SETTLED = { timeout: 60_000, interval: 200 }

beforeAll(async () => {
  world = await adapterWorld()
  front = await apiFront(world.url)
  manager = await world.manager(undefined, { httpTargets: [front.url] })
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await front?.stop()
})

const configMap = (name: string, object: string, rest: object = {}) => ({
  name,
  manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: object, namespace: world.namespace } },
  discovery: { namespace: world.namespace, by_name: object },
  ...rest,
})

/** A task for the clusters of one case, told from others by their label. */
const declare = async (name: string, spec: object): Promise<void> => {
  const params = [{ name: 'clusterId', source: 'event.id', required: true }]
  const selector = { matchLabels: { [name]: 'yes' } }
  await world.declare(name, { params, selector, ...spec } as DeepPartial<AdapterTaskSpec>)
  await world.until(name, 'Working')
}

/** @param name of the task that selects it */
const create = async (name: string, cluster = name): Promise<string> =>
  (await world.create(cluster, {}, { [name]: 'yes' })).id

const ready = async (name: string, cluster = name): Promise<string> => {
  const id = await create(name, cluster)
  await world.pulsedUntil(id, async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'))
  return id
}

const at = (name: string) => `/api/v1/namespaces/${world.namespace}/configmaps/${name}`
const isThere = async (name: string) => (await world.object(at(name))) !== undefined
const gone = (id: string) => world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())

const inventories = async (task: string): Promise<AdapterInventory[]> => {
  const found: AdapterInventory[] = []
  for await (const one of world.kube.list(AdapterInventory, { namespace: world.namespace }))
    if (one.spec.task === task) found.push(one)
  return found
}
const nothingRecorded = (task: string) => vi.waitFor(async () => expect(await inventories(task)).toEqual([]), SETTLED)

const restart = async (): Promise<void> => {
  await manager.stop()
  manager = await world.manager(undefined, { httpTargets: [front.url] })
}

test('ADAPTER-62: what is applied is written down with its uid, and the inventory goes with it', async () => {
  await declare('written', { resources: [configMap('a', 'written-{{ .clusterId }}')] })
  const id = await ready('written')
  const object = await world.object(at(`written-${id}`))
  const [inventory] = await inventories('written')
  expect(inventory?.spec).toMatchObject({ task: 'written', resourceId: id, event: { id, kind: 'Cluster' } })
  expect(inventory?.spec.objects).toMatchObject([
    { resource: 'a', kind: 'ConfigMap', name: `written-${id}`, uid: object?.metadata.uid, generation: 1 },
  ])
  expect(object?.metadata.annotations?.['muster.dev/inventory']).toBe(inventory?.metadata.uid)
  await world.call('DELETE', `/clusters/${id}`)
  await gone(id)
  expect(await isThere(`written-${id}`)).toBe(false)
  await nothingRecorded('written')
})

test('ADAPTER-69: relabelled out of the selector while the manager is away: its objects go, it is awaited no longer, the deletion ends', async () => {
  await declare('moved', { resources: [configMap('a', 'moved-{{ .clusterId }}')] })
  const id = await ready('moved')
  await manager.stop()
  await world.call('PATCH', `/clusters/${id}`, { labels: { moved: 'no' } })
  await world.call('DELETE', `/clusters/${id}`)
  expect(await world.cluster(id)).toBeDefined()
  manager = await world.manager(undefined, { httpTargets: [front.url] })
  await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), SETTLED)
  expect(await isThere(`moved-${id}`)).toBe(false)
  await nothingRecorded('moved')
})

test('ADAPTER-69: relabelled and alive: Ready again, although the adapter has reported before', async () => {
  await declare('alive', { resources: [configMap('a', 'alive-{{ .clusterId }}')] })
  await world.declare('staying', {
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    selector: { matchExpressions: [{ key: 'staying', operator: 'Exists' }] },
    resources: [configMap('a', 'staying-{{ .clusterId }}')],
  } as DeepPartial<AdapterTaskSpec>)
  await world.until('staying', 'Working')
  const made = await world.call<Cluster>('POST', '/clusters', {
    name: 'alive',
    labels: { alive: 'yes', staying: '1' },
    spec: {},
  })
  const id = made?.id ?? ''
  await world.pulsedUntil(id, async () => {
    expect(await isThere(`alive-${id}`)).toBe(true)
    expect((await world.cluster(id))?.status.phase).toBe('Ready')
  })
  await world.call('PATCH', `/clusters/${id}`, { labels: { staying: '1' }, spec: { changed: true } })
  await restart()
  await world.pulsedUntil(id, async () => {
    expect(await isThere(`alive-${id}`)).toBe(false)
    expect((await world.cluster(id))?.status.phase).toBe('Ready')
  })
  expect(await isThere(`staying-${id}`)).toBe(true)
})

test('ADAPTER-63: a name with the generation in it: what is deleted is what was applied', async () => {
  await declare('numbered', { resources: [configMap('a', 'numbered-{{ .resource.generation }}-{{ .clusterId }}')] })
  const id = await ready('numbered')
  await world.call('DELETE', `/clusters/${id}`)
  await gone(id)
  expect(await isThere(`numbered-1-${id}`)).toBe(false)
})

test('ADAPTER-63: attack: an object of others gets the labels that a task’s selector matches; it stays when the resource goes', async () => {
  const labels = { app: 'mine-{{ .clusterId }}' }
  await declare('mine', {
    resources: [
      configMap('a', 'mine-{{ .clusterId }}', {
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'mine-{{ .clusterId }}', namespace: world.namespace, labels },
        },
        discovery: { by_selectors: { label_selector: labels } },
      }),
    ],
  })
  const id = await ready('mine')
  await world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/configmaps`, {
    metadata: { name: 'not-mine', labels: { app: `mine-${id}` } },
  })
  await world.call('DELETE', `/clusters/${id}`)
  await gone(id)
  expect([await isThere(`mine-${id}`), await isThere('not-mine')]).toEqual([false, true])
})

test('ADAPTER-66: removed by force during its first run: the report meets a 404, and what the run had applied goes', async () => {
  await declare('hurried', {
    hyperfleetAPI: { url: front.url },
    resources: [configMap('a', 'hurried-{{ .clusterId }}'), configMap('b', 'hurried-b-{{ .clusterId }}')],
  })
  const id = await create('hurried')
  let deleted = false
  const applied: boolean[] = []
  front.decide(async ({ method, path }): Promise<ApiFate> => {
    if (deleted || method !== 'PUT' || !path.includes(id)) return 'pass'
    deleted = true
    applied.push(await isThere(`hurried-${id}`), await isThere(`hurried-b-${id}`))
    await world.call('DELETE', `/clusters/${id}`)
    await world.call('POST', `/clusters/${id}/force-delete`, { reason: 'made by mistake' })
    return 'pass'
  })
  await world.pulse(id)
  await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), SETTLED)
  expect(applied).toEqual([true, true])
  await vi.waitFor(async () => {
    expect([await isThere(`hurried-${id}`), await isThere(`hurried-b-${id}`)]).toEqual([false, false])
  }, SETTLED)
  await nothingRecorded('hurried')
})

test('ADAPTER-66: removed by force while the manager is away: everything goes when one comes', async () => {
  await declare('forced', { resources: [configMap('a', 'forced-{{ .clusterId }}')] })
  const id = await ready('forced')
  await manager.stop()
  await world.call('DELETE', `/clusters/${id}`)
  await world.call('POST', `/clusters/${id}/force-delete`, { reason: 'the account is closed' })
  expect(await isThere(`forced-${id}`)).toBe(true)
  manager = await world.manager(undefined, { httpTargets: [front.url] })
  await vi.waitFor(async () => expect(await isThere(`forced-${id}`)).toBe(false), SETTLED)
  await nothingRecorded('forced')
})

test('ADAPTER-67: a resource that the task does not name any more goes, and so does the object of an older generation', async () => {
  const kept = configMap('kept', 'renamed-{{ .resource.generation }}-{{ .clusterId }}')
  await declare('renamed', { resources: [kept, configMap('dropped', 'dropped-{{ .clusterId }}')] })
  const id = await ready('renamed')
  expect(await isThere(`dropped-${id}`)).toBe(true)
  const path = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks/renamed`
  await world.plane.rest('PATCH', path, { spec: { resources: [kept] } })
  await vi.waitFor(async () => expect(await isThere(`dropped-${id}`)).toBe(false), SETTLED)
  await world.call('PATCH', `/clusters/${id}`, { spec: { region: 'eu' } })
  await world.pulsedUntil(id, async () =>
    expect([await isThere(`renamed-1-${id}`), await isThere(`renamed-2-${id}`)]).toEqual([false, true]),
  )
})

test('ADAPTER-67: a kind that the task does not name any more goes too, when a manager that never knew it named finds it out', async () => {
  const secret = {
    name: 'dropped',
    manifest: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'kinds-{{ .clusterId }}', namespace: world.namespace },
    },
    discovery: { namespace: world.namespace, by_name: 'kinds-{{ .clusterId }}' },
  }
  await declare('kinds', { resources: [configMap('kept', 'kinds-{{ .clusterId }}'), secret] })
  const id = await ready('kinds')
  const path = `/api/v1/namespaces/${world.namespace}/secrets/kinds-${id}`
  expect(await world.object(path)).toBeDefined()
  await manager.stop()
  const task = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks/kinds`
  await world.plane.rest('PATCH', task, { spec: { resources: [configMap('kept', 'kinds-{{ .clusterId }}')] } })
  manager = await world.manager(undefined, { httpTargets: [front.url] })
  await vi.waitFor(async () => expect(await world.object(path)).toBeUndefined(), SETTLED)
  expect(await isThere(`kinds-${id}`)).toBe(true)
})

test('ADAPTER-63: what a task found and did not make goes with its resource only where the task says that it adopts it', async () => {
  const found = (name: string, rest: object) => {
    const labels = { app: `${name}-{{ .clusterId }}` }
    const metadata = { name: `${name}-{{ .clusterId }}`, namespace: world.namespace, labels }
    return {
      name,
      manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata },
      discovery: { namespace: world.namespace, by_selectors: { label_selector: labels } },
      ...rest,
    }
  }
  await declare('adopting', { resources: [found('taken', { adopt: true }), found('seen', {})] })
  const id = await ready('adopting')
  for (const name of ['taken', 'seen'])
    await world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/configmaps`, {
      metadata: { name: `${name}-by-hand`, labels: { app: `${name}-${id}` } },
    })
  await world.call('DELETE', `/clusters/${id}`)
  await gone(id)
  expect([await isThere('taken-by-hand'), await isThere('seen-by-hand')]).toEqual([false, true])
})

test('ADAPTER-64: what a release without inventories has applied goes also when a run was written down that applied nothing; what is newer stays', async () => {
  const labels = { app: 'upgraded' }
  await declare('upgraded', {
    preconditions: [{ name: 'open', expression: 'has(resource.deleted_time)' }],
    resources: [
      configMap('a', 'upgraded-{{ .clusterId }}', {
        discovery: { namespace: world.namespace, by_selectors: { label_selector: labels } },
      }),
    ],
  })
  const id = await create('upgraded')
  const adapter = `upgraded-${world.namespace.slice(-8)}`
  const put = (name: string) =>
    world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/configmaps`, {
      metadata: { name, labels: { ...labels, 'muster.dev/adapter': adapter, 'muster.dev/resource-id': id } },
    })
  await put(`upgraded-${id}`)
  await world.pulsedUntil(id, async () =>
    expect(await inventories('upgraded')).toMatchObject([{ spec: { objects: [] } }]),
  )
  const recordedAt = Date.parse((await inventories('upgraded'))[0]?.metadata.creationTimestamp ?? '')
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThanOrEqual(recordedAt + 1_000), SETTLED)
  await put('newer')
  await world.call('DELETE', `/clusters/${id}`)
  await gone(id)
  expect([await isThere(`upgraded-${id}`), await isThere('newer')]).toEqual([false, true])
  await nothingRecorded('upgraded')
})

test('ADAPTER-73: what a deleted task has applied stays, and goes when the task says so', async () => {
  await declare('staying-on', { resources: [configMap('a', 'staying-on-{{ .clusterId }}')] })
  await declare('going', {
    resources: [configMap('a', 'going-{{ .clusterId }}')],
    retention: { whenTaskDeleted: 'Delete' },
  })
  const [stays, goes] = [await ready('staying-on'), await ready('going')]
  for (const name of ['staying-on', 'going'])
    await world.plane.rest(
      'DELETE',
      `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks/${name}`,
    )
  await vi.waitFor(async () => expect(await isThere(`going-${goes}`)).toBe(false), SETTLED)
  await nothingRecorded('going')
  expect(await isThere(`staying-on-${stays}`)).toBe(true)
  expect(await inventories('staying-on')).toHaveLength(1)
})

test('ADAPTER-73: a task that is made again under its name while the deleted one is swept keeps what it applies', async () => {
  const retention = { whenTaskDeleted: 'Delete' }
  await declare('again', { resources: [configMap('a', 'again-{{ .clusterId }}')], retention })
  const id = await ready('again')
  const old = at(`again-${id}`)
  await world.plane.rest('PATCH', old, { metadata: { finalizers: ['example.com/hold'] } })
  const tasks = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks`
  await world.plane.rest('DELETE', `${tasks}/again`)
  await vi.waitFor(async () => expect((await world.object(old))?.metadata.deletionTimestamp).toBeDefined(), SETTLED)
  await declare('again', { resources: [configMap('b', 'anew-{{ .clusterId }}')], retention })
  const uid = () => world.object(at(`anew-${id}`)).then((found) => found?.metadata.uid)
  await world.pulsedUntil(id, async () => expect(await uid()).toBeDefined())
  const applied = await uid()
  await vi.waitFor(() => expect(manager.lines.join('\n')).toContain('a task of the name of a deleted one'), SETTLED)
  await world.plane.rest('PATCH', old, { metadata: { finalizers: null } })
  await world.pulsedUntil(id, async () => expect(await isThere(`again-${id}`)).toBe(false))
  await world.pulsedUntil(id, async () =>
    expect((await inventories('again')).flatMap(({ spec }) => spec.objects.map(({ resource }) => resource))).toEqual([
      'b',
    ]),
  )
  expect(await uid()).toBe(applied)
})

test('ADAPTER-80: the version of a kind is served no more while the manager runs: what was applied in it is found and deleted in the other', async () => {
  const group = `${world.namespace}.example.com`
  const definition = (served: boolean) => ({
    metadata: { name: `gadgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget' },
      versions: [
        ['v1', true, true],
        ['v1beta1', served, false],
      ].map(([name, isServed, storage]) => ({
        name,
        served: isServed,
        storage,
        schema: { openAPIV3Schema: { type: 'object' } },
      })),
    },
  })
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await world.plane.rest('POST', definitions, definition(true))
  const gadget = (version: string, name: string) =>
    `/apis/${group}/${version}/namespaces/${world.namespace}/gadgets/${name}`
  const discovers = (version: string) =>
    vi.waitFor(async () => expect(await world.object(`/apis/${group}/${version}`)).toBeDefined(), SETTLED)
  await discovers('v1beta1')
  const metadata = { name: 'gadget-{{ .clusterId }}', namespace: world.namespace }
  await declare('served', {
    resources: [
      {
        name: 'a',
        manifest: { apiVersion: `${group}/v1beta1`, kind: 'Gadget', metadata },
        discovery: { namespace: world.namespace, by_name: metadata.name },
      },
    ],
  })
  const id = await ready('served')
  expect(await world.object(gadget('v1', `gadget-${id}`))).toBeDefined()
  await world.plane.rest('PATCH', `${definitions}/gadgets.${group}`, definition(false))
  await vi.waitFor(async () => expect(await world.object(gadget('v1beta1', `gadget-${id}`))).toBeUndefined(), SETTLED)
  expect(await world.object(gadget('v1', `gadget-${id}`))).toBeDefined()
  await world.call('DELETE', `/clusters/${id}`)
  await gone(id)
  expect(await world.object(gadget('v1', `gadget-${id}`))).toBeUndefined()
  // What was watched in the version of before is watched in the one that is left.
  await world.until('served', 'Working')
  await world.plane.rest('DELETE', `${definitions}/gadgets.${group}`)
})

test('ADAPTER-86: an object that two clusters have goes with the last of them, also when both go at once', async () => {
  await declare('shared', { resources: [configMap('a', 'shared'), configMap('b', 'own-{{ .clusterId }}')] })
  const [first, second, third] = [
    await ready('shared'),
    await ready('shared', 'shared-2'),
    await ready('shared', 'shared-3'),
  ]
  const uid = async () => (await world.object(at('shared')))?.metadata.uid
  const applied = await uid()
  await world.call('DELETE', `/clusters/${first}`)
  await gone(first)
  expect([await isThere(`own-${first}`), await isThere(`own-${second}`)]).toEqual([false, true])
  expect(await uid()).toBe(applied)
  await Promise.all([second, third].map((id) => world.call('DELETE', `/clusters/${id}`)))
  await Promise.all([second, third].map(gone))
  expect(await isThere('shared')).toBe(false)
  await nothingRecorded('shared')
})

describe('ADAPTER-88: an object that two tasks apply', () => {
  const common = (data: object = {}) => ({
    ...configMap('common', 'common-{{ .clusterId }}'),
    manifest: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'common-{{ .clusterId }}', namespace: world.namespace, labels: { app: 'common' } },
      data: { generation: '{{ .resource.generation }}', ...data },
    },
  })
  const declareBoth = async (one: string, other: string, data?: object) => {
    for (const [name, given] of [
      [one, {}],
      [other, data],
    ] as const) {
      const selector = { matchExpressions: [{ key: name, operator: 'Exists' as const }] }
      await declare(name, { selector, resources: [common(given), configMap('own', `${name}-{{ .clusterId }}`)] })
    }
  }
  const createFor = async (...tasks: readonly string[]): Promise<string> => {
    const labels = Object.fromEntries(tasks.map((name) => [name, 'yes']))
    const made = await world.call<Cluster>('POST', '/clusters', { name: tasks.join('-'), labels, spec: {} })
    return made?.id ?? ''
  }
  const settled = (id: string) =>
    world.pulsedUntil(id, async () => {
      expect((await world.cluster(id))?.status.phase).toBe('Ready')
      expect(await isThere(`left-${id}`)).toBe(true)
      expect(await isThere(`right-${id}`)).toBe(true)
    })
  const holder = async (id: string) => {
    const { metadata } = (await world.object(at(`common-${id}`))) ?? {}
    return { uid: metadata?.uid, adapter: metadata?.labels?.['muster.dev/adapter']?.replace(/-[^-]*$/, '') }
  }

  test('is no matter of dispute, follows the resource, stays with the one that still has it, and goes with the last', async () => {
    await declareBoth('left', 'right')
    const id = await createFor('left', 'right')
    await settled(id)
    const { uid, adapter: first } = await holder(id)
    const [second] = ['left', 'right'].filter((name) => name !== first)
    await world.call('PATCH', `/clusters/${id}`, { spec: { region: 'eu' } })
    await settled(id)
    expect(await holder(id)).toEqual({ uid, adapter: first })
    expect(await world.object(at(`common-${id}`))).toMatchObject({ data: { generation: '2' } })

    await world.call('PATCH', `/clusters/${id}`, { labels: { [second ?? '']: 'yes' } })
    await world.pulsedUntil(id, async () => {
      expect(await isThere(`${first}-${id}`)).toBe(false)
      expect(await holder(id)).toEqual({ uid, adapter: second })
    })
    await world.call('DELETE', `/clusters/${id}`)
    await gone(id)
    expect(await isThere(`common-${id}`)).toBe(false)
    await Promise.all(['left', 'right'].map(nothingRecorded))

    const both = await createFor('left', 'right')
    await settled(both)
    await world.call('DELETE', `/clusters/${both}`)
    await gone(both)
    expect(await isThere(`common-${both}`)).toBe(false)
    await Promise.all(['left', 'right'].map(nothingRecorded))
  })

  test('ADAPTER-97: what the second one adds is watched and put right, also when its objects have no fields of their own', async () => {
    const paths = { bare: at('bare-with-two'), added: at('added-to') }
    const manifest = (name: string, rest: object = {}) => ({
      name: name.replaceAll('-', '_'),
      manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: world.namespace }, ...rest },
      discovery: { namespace: world.namespace, by_name: name },
    })
    const selector = (name: string) => ({ matchExpressions: [{ key: name, operator: 'Exists' as const }] })
    const both = (rest?: object) => [manifest('bare-with-two'), manifest('added-to', rest)]
    await declare('host', { selector: selector('host'), resources: both() })
    await declare('guest', { selector: selector('guest'), resources: both({ data: { colour: 'red' } }) })
    const id = await createFor('host')
    await world.pulsedUntil(id, async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'))
    await world.call('PATCH', `/clusters/${id}`, { labels: { host: 'yes', guest: 'yes' } })
    const colour = async () => (await world.object(paths.added)) as { readonly data?: object } | undefined
    await world.pulsedUntil(id, async () => {
      expect((await world.cluster(id))?.status.phase).toBe('Ready')
      expect(await colour()).toMatchObject({ data: { colour: 'red' } })
      expect((await world.object(paths.bare))?.metadata.labels).toMatchObject({
        'muster.dev/adapter': expect.stringMatching(/^host/),
      })
    })
    // No event tells of it.
    await world.plane.rest('PATCH', paths.added, { data: { colour: 'blue' } })
    await vi.waitFor(async () => expect(await colour()).toMatchObject({ data: { colour: 'red' } }), SETTLED)

    const uid = async () => (await world.object(paths.bare))?.metadata.uid
    const applied = await uid()
    await world.call('PATCH', `/clusters/${id}`, { labels: { guest: 'yes' } })
    await world.pulsedUntil(id, async () => expect(await inventories('host')).toEqual([]))
    expect(await uid()).toBe(applied)
    await world.call('DELETE', `/clusters/${id}`)
    await gone(id)
    expect(await Promise.all(['bare-with-two', 'added-to'].map(isThere))).toEqual([false, false])
  })

  test('with other fields is reported by the one that comes later, which says by whom it is applied', async () => {
    await declareBoth('agrees', 'differs', { colour: 'red', generation: 'none' })
    const id = await createFor('agrees', 'differs')
    await world.pulsedUntil(id, async () => {
      const said = [...(await world.reported(id, 'agrees')), ...(await world.reported(id, 'differs'))]
      expect(said).toContain('Health False ApplyFailed')
      expect(said).toContain('Health True Healthy')
    })
    const failed = (await world.reported(id, 'agrees')).includes('Health False ApplyFailed') ? 'agrees' : 'differs'
    const said = /is applied by the AdapterTask (agrees|differs) too, and not with the same fields/
    await vi.waitFor(async () => {
      const { lastRuns = [] } = (await world.task(failed)).status ?? {}
      expect(lastRuns.map(({ message }) => message)).toContainEqual(expect.stringMatching(said))
    }, SETTLED)
    await world.call('DELETE', `/clusters/${id}`)
    await gone(id)
    expect(await isThere(`common-${id}`)).toBe(false)
  })
})

test('ADAPTER-74: muster adapter orphans lists what deleted tasks and forced removals leave, and deletes it when asked to', async () => {
  const resources = (name: string) => [configMap('a', `${name}-{{ .clusterId }}`)]
  await declare('orphaned', { resources: resources('orphaned') })
  await declare('lost', { resources: resources('lost'), retention: { whenResourceGone: 'Keep' } })
  await declare('fine', { resources: resources('fine') })
  const [orphaned, lost, fine] = [await ready('orphaned'), await ready('lost'), await ready('fine')]
  const tasks = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks`
  await world.plane.rest('DELETE', `${tasks}/orphaned`)
  await world.call('DELETE', `/clusters/${lost}`)
  await world.call('POST', `/clusters/${lost}/force-delete`, { reason: 'the account is closed' })
  const orphans = async (...more: string[]) => {
    const flags = [
      `--namespace=${world.namespace}`,
      `--hyperfleet-api-url=${world.url}`,
      `--kubeconfig=${world.plane.kubeconfig}`,
    ]
    const { output } = await muster(['adapter', 'orphans', '--output=json', ...flags, ...more])
    return (
      JSON.parse(output.slice(output.indexOf('['), output.lastIndexOf(']') + 1)) as {
        task: string
        resource: string
        why: string
        objects: unknown[]
      }[]
    )
      .filter(({ task }) => ['orphaned', 'lost', 'fine'].includes(task))
      .map(({ task, resource, why, objects }) => `${task} ${resource} ${why} ${objects.length}`)
      .toSorted((a, b) => a.localeCompare(b))
  }
  const listed = [`lost ${lost} ResourceGone 1`, `orphaned ${orphaned} TaskGone 1`]
  expect(await orphans()).toEqual(listed)
  const counted = async () => {
    const text = await manager.registry.getSingleMetricAsString('hyperfleet_adapter_orphaned_resources')
    return /adapter_name="lost-[^"]*"\} (\d+)/.exec(text)?.[1]
  }
  await vi.waitFor(async () => expect(await counted()).toBe('1'), SETTLED)
  expect(await orphans('--prune')).toEqual(listed)
  expect([await isThere(`orphaned-${orphaned}`), await isThere(`lost-${lost}`), await isThere(`fine-${fine}`)]).toEqual(
    [false, false, true],
  )
  await orphans('--prune')
  expect(await orphans()).toEqual([])
  await world.plane.rest('DELETE', `${tasks}/lost`)
  await vi.waitFor(async () => expect(await counted()).toBeUndefined(), SETTLED)
})

test('ADAPTER-108: an inventory that alone proves whose a shared object is stays, and is named so, until the other one has proof', async () => {
  const { namespace } = world
  await world.plane.rest('POST', `/api/v1/namespaces/${namespace}/configmaps`, {
    metadata: { name: 'proven', namespace },
  })
  const object = await world.object(at('proven'))
  await world.declare('holder', {
    suspend: true,
    resources: [configMap('a', 'holder')],
  } as DeepPartial<AdapterTaskSpec>)
  const inventory = async (task: string, more: object) => {
    const entry = { resource: 'a', apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'proven', generation: 1 }
    const metadata = { name: task, namespace }
    const objects = [{ ...entry, propagationPolicy: 'Background', ...more }]
    const spec = { task, adapter: task, serviceAccountName: 'x', resourceId: 'c1', event: { id: 'c1' }, objects }
    const made = { apiVersion: 'hyperfleet.redhat.com/v1alpha1', kind: 'AdapterInventory', metadata, spec }
    await world.plane.rest('POST', inventoriesPath, made)
    return spec
  }
  const inventoriesPath = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${namespace}/adapterinventories`
  const held = await inventory('holder', {})
  await inventory('ended', { uid: object?.metadata.uid })
  const orphans = async (...more: string[]) => {
    const flags = [`--namespace=${namespace}`, `--kubeconfig=${world.plane.kubeconfig}`, ...more]
    return (await muster(['adapter', 'orphans', ...flags])).output
  }
  const named = `ended  c1  TaskGone\n    ConfigMap ${namespace}/proven  in use elsewhere, this inventory alone proves whose it is`
  const kept = await orphans('--prune')
  expect(kept).toContain(named)
  expect(kept).toContain('1 stay as proof of whose an object is')
  expect(await orphans()).toContain(named)
  expect(await orphans('--output=json')).toMatch(/"proofOf": \[\s*\{\s*"kind": "ConfigMap"/)
  const objects = [{ ...held.objects[0], uid: object?.metadata.uid }]
  await world.plane.rest('PATCH', `${inventoriesPath}/holder`, { spec: { objects } })
  expect(await orphans('--prune')).toContain('ended  c1  TaskGone\n    nothing, its inventory alone\n')
  expect(await inventories('ended')).toEqual([])
  expect(await isThere('proven')).toBe(true)
})
