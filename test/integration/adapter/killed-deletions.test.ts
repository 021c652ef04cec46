/**
 * Each way in which a deletion could leak, hang or hide a failure, with its manager killed in the middle: the next one does what the
 * first would have done. Real managers as their ServiceAccount, on the real API server and API.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { type MusterProcess, type RequestProxy, startMuster } from '#test/harness/index.ts'
import { type ApiFront, apiFront } from './api-front.ts'
import { type AdapterWorld, adapterWorld } from './world.ts'

let world: AdapterWorld
let proxy: RequestProxy
let front: ApiFront
let manager: MusterProcess

const PARAM = { name: 'clusterId', source: 'event.id', required: true }
const SETTLED = { timeout: 90_000, interval: 300 }
const TIMEOUT = 240_000

beforeAll(async () => {
  world = await adapterWorld()
  proxy = await world.plane.proxy()
  front = await apiFront(world.url)
  manager = await start()
})

afterAll(async () => {
  await manager?.stop()
  await world?.[Symbol.asyncDispose]()
  await front?.stop()
  await proxy?.stop()
})

const start = async (): Promise<MusterProcess> => {
  const kubeconfig = await world.plane.kubeconfigFor('hyperfleet-adapter', world.namespace, proxy.server)
  const addresses = ['--metrics-bind-address=0', '--health-probe-bind-address=0', `--hyperfleet-api-url=${front.url}`]
  const flags = ['--controllers=adapter', `--namespace=${world.namespace}`, `--kubeconfig=${kubeconfig}`, ...addresses]
  return startMuster(['manager', ...flags])
}

/** SIGKILL, and another manager that need not wait for the Leases of the first to run out. */
const replaceManager = async (): Promise<void> => {
  manager.signal('SIGKILL')
  await manager.exited
  proxy.decide(() => 'pass')
  await world.plane.kubectl('delete', 'lease', '--all', `--namespace=${world.namespace}`)
  manager = await start()
}

/**
 * The server does what is asked first of this object and the answer is lost; nothing that the manager asks of it afterwards comes to
 * the server. Resolves when it was asked.
 */
const lastDeletion = (object: string): Promise<void> =>
  new Promise((resolve) => {
    let isMet = false
    proxy.decide(({ method, path }) => {
      if (!path.includes(object) || (!isMet && method !== 'DELETE')) return 'pass'
      const isFirst = !isMet
      isMet = true
      resolve()
      return isFirst ? 'lose' : new Promise(() => {})
    })
  })

const object = (name: string, rest: object = {}) => ({
  name: 'one',
  manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: world.namespace } },
  discovery: { namespace: world.namespace, by_name: name },
  ...rest,
})

/** A task for clusters that have its label. */
const declare = async (name: string, spec: object): Promise<void> => {
  const params = [PARAM]
  const selector = { matchLabels: { [name]: 'yes' } }
  const hyperfleetAPI = { url: front.url }
  const resources = [object(`${name}-{{ .clusterId }}`)]
  const around = { params, selector, hyperfleetAPI, events: { visibility: '2s' }, resources }
  await world.declare(name, { ...around, ...spec } as AdapterTaskSpec)
  await world.until(name, 'Working')
}

const ready = async (name: string, spec: object = {}): Promise<string> => {
  const { id } = await world.create(name, spec, { [name]: 'yes' })
  await world.pulsedUntil(id, async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'))
  return id
}

const isThere = async (name: string) =>
  (await world.object(`/api/v1/namespaces/${world.namespace}/configmaps/${name}`)) !== undefined

/** The record has gone, and with it all that was applied and what knew of it. */
const nothingIsLeft = async (id: string, ...objects: string[]): Promise<void> => {
  await world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())
  for (const name of objects) expect(await isThere(name)).toBe(false)
  await vi.waitFor(async () => {
    const all = await Array.fromAsync(world.kube.list(AdapterInventory, { namespace: world.namespace }))
    expect(all.filter(({ spec }) => spec.resourceId === id)).toEqual([])
  }, SETTLED)
}

/** Deletes the cluster and kills the manager when it has deleted the object and does not know it. */
const deleteAndKill = async (id: string, name: string): Promise<void> => {
  const reached = lastDeletion(name)
  await world.call('DELETE', `/clusters/${id}`)
  let isReached = false
  void reached.then(() => {
    isReached = true
  })
  await vi.waitFor(async () => {
    await world.pulse(id)
    expect(isReached).toBe(true)
  }, SETTLED)
  await replaceManager()
}

test('ADAPTER-63: a name with the generation in it', { timeout: TIMEOUT }, async () => {
  await declare('numbered', { resources: [object('numbered-{{ .resource.generation }}-{{ .clusterId }}')] })
  const id = await ready('numbered')
  await deleteAndKill(id, `numbered-1-${id}`)
  await nothingIsLeft(id, `numbered-1-${id}`, `numbered-2-${id}`)
})

test('ADAPTER-63: matches of a selector that the task has not applied', { timeout: TIMEOUT }, async () => {
  const labels = { app: 'mine-{{ .clusterId }}' }
  const metadata = { name: 'mine-{{ .clusterId }}', namespace: world.namespace, labels }
  const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
  const discovery = { by_selectors: { label_selector: labels } }
  await declare('mine', { resources: [{ name: 'one', manifest, discovery }] })
  const id = await ready('mine')
  await world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/configmaps`, {
    metadata: { name: 'by-hand', labels: { app: `mine-${id}` } },
  })
  await deleteAndKill(id, `mine-${id}`)
  await nothingIsLeft(id, `mine-${id}`)
  expect(await isThere('by-hand')).toBe(true)
})

test('ADAPTER-71: when_deleting as the design writes it', { timeout: TIMEOUT }, async () => {
  const capture = [{ name: 'deletionTimestamp', field: 'deleted_time' }]
  await declare('as-written', {
    preconditions: [{ name: 'cluster', api_call: { url: '/clusters/{{ .clusterId }}' }, capture }],
    when_deleting: "deletionTimestamp != ''",
  })
  const id = await ready('as-written')
  await deleteAndKill(id, `as-written-${id}`)
  await nothingIsLeft(id, `as-written-${id}`)
})

test('ADAPTER-70: a task that does not take a deleted cluster for deleted: no manager opens the gate', {
  timeout: TIMEOUT,
}, async () => {
  await declare('looking-away', {
    when_deleting: 'false',
    preconditions: [{ name: 'alive', expression: '!has(resource.deleted_time)' }],
  })
  const id = await ready('looking-away')
  await world.call('DELETE', `/clusters/${id}`)
  await replaceManager()
  await world.pulsedUntil(id, async () => {
    const { lastRuns = [] } = (await world.task('looking-away')).status ?? {}
    expect(lastRuns[0]).toMatchObject({ status: 'skipped', message: expect.stringContaining('alive') })
  })
  expect((await world.cluster(id))?.deleted_time).toBeDefined()
  expect(await isThere(`looking-away-${id}`)).toBe(true)
  await world.change('looking-away', { when_deleting: null, preconditions: [] })
  await nothingIsLeft(id, `looking-away-${id}`)
})

const other = (id: string) => ({ preconditions: [{ name: 'other', api_call: { url: `/clusters/${id}` } }] })
const hopeless = { params: [PARAM, { name: 'missing', source: 'resource.spec.missing', required: true }] }
const undecided = { when_deleting: 'resource.spec.missing == "yes"' }

/** A failure in deletion is told, whatever failed, and its manager's end neither hides it nor makes it pass for done. */
test.each([
  [
    'asking',
    'a precondition that meets a 404 of something else',
    () => other('01890000-0000-7000-8000-000000000000'),
    { preconditions: [] },
  ],
  ['hopeless', 'a param without a value', () => hopeless, { params: [PARAM] }],
  ['undecided', 'when_deleting without a value', () => undecided, { when_deleting: null }],
] as const)('API-48, ADAPTER-7: %s: %s', { timeout: TIMEOUT }, async (name, _what, broken, whole) => {
  await declare(name, {})
  const id = await ready(name)
  await world.change(name, broken())
  await world.call('DELETE', `/clusters/${id}`)
  const saysIt = () =>
    world.pulsedUntil(id, async () => {
      const reported = await world.reported(id, name)
      expect(reported).toContainEqual(expect.stringMatching(/^Health False /))
      expect(reported).toContainEqual(expect.stringMatching(/^Available True /))
    })
  await saysIt()
  await replaceManager()
  await vi.waitFor(async () => {
    await world.pulse(id)
    expect((await world.task(name)).status).toMatchObject({ deleting: 1, failing: 1 })
  }, SETTLED)
  await saysIt()
  expect((await world.cluster(id))?.deleted_time).toBeDefined()
  expect(await isThere(`${name}-${id}`)).toBe(true)
  await world.change(name, whole)
  await nothingIsLeft(id, `${name}-${id}`)
})

test('ADAPTER-84: texts that are too much together, and a pattern that would backtrack: killed in the middle of them', {
  timeout: TIMEOUT,
}, async () => {
  await declare('costly', {})
  const id = await ready('costly', { text: `${'a'.repeat(5_000)}!` })
  const all = 'lists.range(900).all(a, lists.range(150).all(b, b >= 0))'
  const costly = Array.from({ length: 30 }, (_, at) => ({
    name: `costly${at}`,
    source: { expression: `!resource.spec.text.matches("^(a+)+$") && ${all}` },
  }))
  await world.change('costly', { params: [PARAM, ...costly] })
  await world.until('costly', 'Working')
  const evaluating = new Promise<void>((resolve) => {
    front.decide(({ method, path }) => {
      if (method === 'GET' && path.includes(id)) setTimeout(resolve, 200)
      return 'pass'
    })
  })
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulse(id)
  await evaluating
  await replaceManager()
  await world.pulsedUntil(id, async () =>
    expect(await world.reported(id, 'costly')).toContain('Health False BudgetExceeded'),
  )
  expect((await world.cluster(id))?.deleted_time).toBeDefined()
  expect(await isThere(`costly-${id}`)).toBe(true)
  await world.change('costly', { params: [PARAM] })
  await nothingIsLeft(id, `costly-${id}`)
})
