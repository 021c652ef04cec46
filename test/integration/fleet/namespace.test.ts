/** A namespace of Deployments that is deleted, which no person said of any Deployment. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Deployment, type DeploymentSpec } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Namespace } from '#apis/kubernetes.ts'
import { LEASES } from '#operator/client/lease-record.ts'
import type { RequestProxy } from '#test/harness/index.ts'
import { type FleetWorld, fleetWorld, type Running, scoreOf } from './world.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

/** More than twenty: so many are never deleted unasked in a fleet of this size. */
const MANY = 25

let world: FleetWorld
let namespace: string
let operator: Running
let proxy: RequestProxy

beforeAll(async () => {
  world = await fleetWorld()
  namespace = await world.plane.namespace('fleet-gone')
  proxy = await world.plane.proxy()
  operator = await world.operator({ of: namespace, server: proxy.server })
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  await Promise.all(Array.from({ length: MANY }, (_, i) => world.device(`m${i}`, i === 0 ? { extra: 'yes' } : {})))
  await deploy('web')
  await deploy('asked')
  await deploy('extra', { extra: 'yes' })
  await world.until(async () => expect(await keys()).toHaveLength(2 * MANY + 1))
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await proxy?.stop()
})

const deploy = (name: string, labels: Readonly<Record<string, string>> = {}, of = namespace) => {
  const targetSelector = { matchLabels: { world: world.namespace, ...labels } }
  const spec = { targetSelector, score: scoreOf(name) } as Partial<DeploymentSpec> as DeploymentSpec
  return world.kube.create(Deployment, { metadata: { name, namespace: of }, spec })
}

const keys = async () => Object.keys(await world.texts('fleet-desired')).toSorted()
const keysOf = async (name: string) => (await keys()).filter((key) => key.endsWith(`.${name}`))
const keysIn = async (of: string) => (await keys()).filter((key) => key.split('.')[1] === of)
const isThere = async (name: string) => (await world.kube.get(Deployment, name, namespace)) !== undefined

// FLEET-77, FLEET-61
test('a person who deletes a Deployment has all its programs stopped; a deleted namespace stops none of many, until a person releases them', async () => {
  const looked = Promise.withResolvers<'pass'>()
  proxy.decide(({ method, path }) =>
    method === 'GET' && path.split('?', 1)[0] === `/api/v1/namespaces/${namespace}` ? looked.promise : 'pass',
  )
  await world.kube.delete(Deployment, 'asked', namespace)
  // Until it is known that it was a person, its keys are no reason to hold others: what goes below the limit goes.
  const body = { spec: { targetSelector: { matchLabels: { world: world.namespace, extra: 'no' } } } }
  await world.kube.patch(Deployment, { name: 'extra', namespace, type: 'merge', body })
  await world.until(async () => expect(await keysOf('extra')).toEqual([]))
  expect(operator.view.recovery().brake).toBeUndefined()
  expect(await keysOf('asked')).toHaveLength(MANY)
  looked.resolve('pass')
  await world.until(async () => expect(await isThere('asked')).toBe(false))
  expect(await keysOf('asked')).toEqual([])

  const before = await keysOf('web')
  await world.plane.rest('DELETE', `/api/v1/namespaces/${namespace}`)
  const brake = await world.until(() => {
    const { brake: now } = operator.view.recovery()
    if (now === undefined) throw new Error('the brake does not hold')
    expect(now.count).toBe(MANY)
    return now
  })
  expect(brake.message).toContain(
    `${namespace}/web on ${MANY} devices (the Deployment is gone, or goes with its namespace)`,
  )
  expect(await keysOf('web')).toEqual(before)
  expect(await isThere('web')).toBe(true)

  await release(namespace, brake.release)
  await world.until(async () => expect(await keys()).toEqual([]))
  await ended(namespace)
})

// FLEET-77
test('a namespace whose Deployment is let go by force stops no program in any replica, until a person releases them', async () => {
  const of = await world.plane.namespace('fleet-forced')
  const leader = await world.operator({ of })
  await world.until(() => expect(leader.view.recovery()).toMatchObject({ phase: 'Converged', isLeading: true }))
  // It never learns how the Deployment was deleted.
  proxy.decide(({ method, path }) =>
    method === 'GET' && path.split('?', 1)[0] === `/api/v1/namespaces/${of}` ? new Promise(() => {}) : 'pass',
  )
  const standBy = await world.operator({ of, server: proxy.server })
  await deploy('web', {}, of)
  await world.until(async () => expect(await keysIn(of)).toHaveLength(MANY))
  const before = await keysIn(of)
  await world.until(() => {
    for (const { view } of [leader, standBy]) expect(view.ofDeployment(`${of}/web`)).toHaveLength(MANY)
  })
  const holds = () =>
    world.until(() => {
      const { brake } = leader.view.recovery()
      if (brake?.count !== MANY) throw new Error('the brake does not hold')
      return brake
    })
  await world.plane.rest('DELETE', `/api/v1/namespaces/${of}`)
  await holds()
  const body = { metadata: { finalizers: null } }
  await world.kube.patch(Deployment, { name: 'web', namespace: of, type: 'merge', body })
  await ended(of)
  await world.until(() => {
    for (const { view } of [leader, standBy]) expect(view.deployments()).toEqual([])
  })
  expect(await keysIn(of)).toEqual(before)

  await release(of, (await holds()).release)
  await world.until(async () => expect(await keysIn(of)).toEqual([]))
  await allReleased(leader)
})

// FLEET-77
test('a namespace that is ended by force and made again stops no program, by operators that begin then, until a person releases them', async () => {
  const of = await world.plane.namespace('fleet-again')
  const path = `/api/v1/namespaces/${of}`
  const first = await world.operator({ of })
  await world.until(() => expect(first.view.recovery().phase).toBe('Converged'))
  await deploy('web', {}, of)
  await world.until(async () => expect(await keysIn(of)).toHaveLength(MANY))
  const before = await keysIn(of)
  await world.plane.rest('DELETE', path)
  await world.until(() => expect(first.view.recovery().brake?.count).toBe(MANY))
  await first.stop()
  const metadata = { name: of }
  await world.plane.rest('PUT', `${path}/finalize`, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata,
    spec: { finalizers: [] },
  })
  await ended(of)
  const holds = ({ view }: Running) =>
    world.until(() => {
      const { brake } = view.recovery()
      if (brake?.count !== MANY) throw new Error('the brake does not hold')
      return brake
    })
  const second = await world.operator({ of })
  await holds(second)
  expect(await keysIn(of)).toEqual(before)
  await second.stop()
  await world.kube.create(Namespace, { metadata })

  const third = await world.operator({ of })
  const brake = await holds(third)
  expect(await keysIn(of)).toEqual(before)
  await release(of, brake.release)
  await world.until(async () => expect(await world.kube.get(Deployment, 'web', of)).toBeUndefined())
  expect(await keysIn(of)).toEqual([])
  await allReleased(third)
})

// FLEET-77
test('a person who deletes a Deployment while no operator runs, its revisions with it, has all its programs stopped', async () => {
  const of = await world.plane.namespace('fleet-absent')
  const first = await world.operator({ of })
  await world.until(() => expect(first.view.recovery().phase).toBe('Converged'))
  await deploy('web', {}, of)
  await world.until(async () => expect(await keysIn(of)).toHaveLength(MANY))
  await first.stop()
  await world.kube.delete(Deployment, 'web', of)
  await world.plane.rest('DELETE', `/apis/apps/v1/namespaces/${of}/controllerrevisions`)
  await world.operator({ of })
  await world.until(async () => expect(await world.kube.get(Deployment, 'web', of)).toBeUndefined())
  expect(await keysIn(of)).toEqual([])
})

/** All keys went by a person's word, and none before it. */
const allReleased = ({ registry }: Running) =>
  world.until(async () =>
    expect(await registry.getSingleMetric('muster_fleet_orphans_collected_total')?.get()).toMatchObject({
      values: [{ value: MANY }],
    }),
  )

const release = (of: string, deletions: string) =>
  world.kube.patch(LEASES, {
    name: `muster-fleet-${of}`,
    namespace: world.namespace,
    type: 'merge',
    body: { metadata: { annotations: { 'fleet.nationtech.io/release-deletions': deletions } } },
  })

const ended = (of: string) =>
  world.until(async () => expect(await world.plane.rest('GET', '/api/v1/namespaces').then(named)).not.toContain(of))

const named = (list: unknown): readonly string[] =>
  (list as { readonly items: readonly { readonly metadata: { readonly name: string } }[] }).items.map(
    ({ metadata }) => metadata.name,
  )
