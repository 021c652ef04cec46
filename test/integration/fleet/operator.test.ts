/** The life of Deployments and Devices, with one operator. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { LEASES } from '#operator/client/lease-record.ts'
import { type FleetWorld, fleetWorld, type Machine, type Running, scoreOf } from './world.ts'

vi.setConfig({ testTimeout: 180_000 })

let world: FleetWorld
let operator: Running

beforeAll(async () => {
  world = await fleetWorld()
  operator = await world.operator()
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

const given = (machine: Machine, wanted: Readonly<Record<string, number>>) =>
  world.until(async () => expect(await machine.wanted()).toEqual(wanted))

const statusOf = async (name: string) => (await world.deployment(name))?.status

const device = async ({ name }: Machine) => world.kube.get(Device, name)

const matching = (labels: Readonly<Record<string, string>>) => ({ targetSelector: { matchLabels: labels } })

const gone = (name: string) => world.until(async () => expect(await world.deployment(name)).toBeUndefined())

// FLEET-52, FLEET-53
test('a device that tells of itself becomes a Device; Ready is Unknown when its heartbeat ends, and True when it is back', async () => {
  const machine = await world.device('told', { site: 'north' })
  const ready = async () => (await device(machine))?.status?.conditions?.find(({ type }) => type === 'Ready')?.status
  await world.until(async () => expect(await ready()).toBe('True'))
  expect(await device(machine)).toMatchObject({
    metadata: { labels: { site: 'north' } },
    spec: { inventory: { arch: 'arm64' } },
    status: { agentVersion: '1', lastSeen: expect.any(String) },
  })
  await machine.silence()
  await world.until(async () => expect(await ready()).toBe('Unknown'))
  expect((await device(machine))?.status?.taints).toMatchObject([{ key: 'fleet.nationtech.io/unreachable' }])
  await machine.beat()
  await world.until(async () => expect(await ready()).toBe('True'))
  expect((await device(machine))?.status?.taints).toBeUndefined()
})

// FLEET-52
test('labels that people own stay theirs; the others follow the device', async () => {
  const machine = await world.device('owned', { ring: 'a', site: 'north' })
  await world.until(async () => expect(await device(machine)).toBeDefined())
  await world.kube.apply(
    Device,
    { metadata: { name: machine.name, labels: { ring: 'mine' } } },
    { fieldManager: 'person', force: true },
  )
  await machine.tell({ ring: 'b', site: 'south' })
  await world.until(async () =>
    expect((await device(machine))?.metadata.labels).toMatchObject({ ring: 'mine', site: 'south' }),
  )
})

// FLEET-72
test('a cluster that Kubernetes has forgotten gets no Device though it is heard, until there is one of its name again', async () => {
  const { kube, namespace } = world
  const cluster = (name: string) => ({ clusterDeployment: `${namespace}/${name}` })
  const make = (name: string) =>
    kube.create(ClusterDeployment, {
      metadata: { name, namespace },
      spec: { clusterName: name, baseDomain: 'example.com', platform: { baremetal: {} } },
    })
  await make('known')
  const forgotten = await world.device('forgotten', {}, cluster('forgotten'))
  const known = await world.device('known', {}, cluster('known'))
  // Those that are heard first come first.
  await world.until(async () => expect((await device(known))?.status).toBeDefined())
  expect(await device(forgotten)).toBeUndefined()
  await make('forgotten')
  await forgotten.tell({})
  await world.until(async () => expect((await device(forgotten))?.status).toBeDefined())
  // One that is there stays.
  await kube.delete(ClusterDeployment, 'known', namespace)
  await known.tell({ site: 'north' })
  await world.until(async () => expect((await device(known))?.metadata.labels).toMatchObject({ site: 'north' }))
})

// FLEET-36
test('label_change_moves_device: the key of one Deployment goes, that of the other comes, and nothing else is written', async () => {
  const [moving, staying] = [await world.device('moving', { ring: 'x' }), await world.device('staying', { ring: 'x' })]
  await world.deploy('for-x', matching({ ring: 'x', world: world.namespace }))
  await world.deploy('for-y', matching({ ring: 'y', world: world.namespace }))
  for (const machine of [moving, staying]) await given(machine, { 'for-x': 1 })
  const before = await world.revision('fleet-desired')
  await moving.tell({ ring: 'y' })
  await given(moving, { 'for-y': 1 })
  await given(staying, { 'for-x': 1 })
  expect(await world.revision('fleet-desired')).toBe(before + 2)
})

// FLEET-25
test('deleting a Deployment removes its keys, then its finalizer; cr_deleted_and_recreated_same_name begins anew', async () => {
  const machine = await world.device('deleted', { ring: 'deleted' })
  await world.deploy('short', matching({ ring: 'deleted' }))
  await given(machine, { short: 1 })
  const first = await world.deployment('short')
  expect(first?.metadata.finalizers).toContain('fleet.nationtech.io/finalizer')
  await world.kube.delete(Deployment, 'short', world.namespace)
  await gone('short')
  expect(await machine.wanted()).toEqual({})
  await world.deploy('short', { ...matching({ ring: 'deleted' }), score: scoreOf('anew') })
  await given(machine, { short: 1 })
  const key = `${machine.name}.${world.namespace}.short`
  expect((await world.texts('fleet-desired'))[key]).toContain('anew')
  await machine.say('short')
  await world.until(async () => expect(await statusOf('short')).toMatchObject({ ready: '1/1', revision: 1 }))
})

// FLEET-41, FLEET-42
test('two batches: the second waits for approval; pause, abort and the status say how it stands', async () => {
  const machines = await Promise.all(['p', 'q', 'r'].map((name) => world.device(name, { ring: 'batches' })))
  // A batch is frozen of the Devices that there are.
  for (const machine of machines) await world.until(async () => expect(await device(machine)).toBeDefined())
  await world.deploy('waves', {
    ...matching({ ring: 'batches' }),
    rollout: { strategy: 'Batches', batches: [{ limit: 1 }], approval: 'Manual' },
    score: scoreOf('one'),
  })
  const running = async (revision: number) =>
    (await Promise.all(machines.map((machine) => machine.wanted()))).filter(({ waves }) => waves === revision).length
  const settle = async (revision: number) => {
    for (const machine of machines) if ((await machine.wanted()).waves === revision) await machine.say('waves')
  }
  const rollOut = async (revision: number) => {
    await world.until(async () => expect(await running(revision)).toBe(1))
    await settle(revision)
    await world.until(async () =>
      expect(await statusOf('waves')).toMatchObject({ batch: '1/2', rollout: { phase: 'Waiting', revision } }),
    )
  }
  await rollOut(1)
  await world.change('waves', { metadata: { annotations: { 'fleet.nationtech.io/approve-batch': '2@1' } } })
  await world.until(async () => expect(await running(1)).toBe(3))
  await settle(1)
  await world.until(async () =>
    expect(await statusOf('waves')).toMatchObject({ ready: '3/3', rollout: { phase: 'Inactive' } }),
  )

  // What was approved stays written, and approves nothing of this one.
  await world.change('waves', { spec: { score: scoreOf('two') } })
  await rollOut(2)
  expect(await statusOf('waves')).toMatchObject({ aggregate: { matched: 3, targeted: 1, succeeded: 1, held: 2 } })
  await world.change('waves', { spec: { rollout: { paused: true } } })
  await world.until(async () => expect(await statusOf('waves')).toMatchObject({ rollout: { phase: 'Paused' } }))
  await world.change('waves', {
    metadata: { annotations: { 'fleet.nationtech.io/abort-revision': '2' } },
    spec: { rollout: { paused: false } },
  })
  await world.until(async () => expect(await running(3)).toBe(1))
  for (const machine of machines) await machine.say('waves')
  await world.until(async () =>
    expect(await statusOf('waves')).toMatchObject({
      ready: '3/3',
      revision: 3,
      rollout: { phase: 'Inactive', revision: 3 },
    }),
  )
})

test('what can’t be meant makes the Deployment Stalled with the reason, and its devices keep what they have', async () => {
  const machine = await world.device('kept', { ring: 'kept' })
  await world.deploy('kept', matching({ ring: 'kept' }))
  await given(machine, { kept: 1 })
  const stalled = async () => (await statusOf('kept'))?.conditions?.find(({ type }) => type === 'Stalled')
  await world.change('kept', { metadata: { annotations: { 'fleet.nationtech.io/approve-batch': 'second' } } })
  await world.until(async () => expect(await stalled()).toMatchObject({ status: 'True', reason: 'InvalidAnnotation' }))
  await given(machine, { kept: 1 })
})

// FLEET-25
test('what can’t be meant can be deleted: its keys go, then its finalizer', async () => {
  const machine = await world.device('unmeant', { ring: 'unmeant' })
  await world.deploy('unmeant', matching({ ring: 'unmeant' }))
  await given(machine, { unmeant: 1 })
  await world.change('unmeant', { spec: { targetExpression: 'device.labels[' } })
  await world.until(async () =>
    expect((await statusOf('unmeant'))?.conditions).toContainEqual(expect.objectContaining({ reason: 'InvalidSpec' })),
  )
  await world.kube.delete(Deployment, 'unmeant', world.namespace)
  await gone('unmeant')
  expect(await machine.wanted()).toEqual({})
})

// FLEET-24
test('however fast reports and labels change, a Deployment has at most one status a second', async () => {
  const machine = await world.device('paced', { ring: 'paced' })
  await world.deploy('paced', matching({ ring: 'paced' }))
  await given(machine, { paced: 1 })
  const written = async () => {
    const metric = await operator.registry.getSingleMetric('muster_fleet_status_writes_total')?.get()
    return metric?.values.find(({ labels }) => labels.kind === 'Deployment')?.value ?? 0
  }
  const changeTenTimes = async (change: (i: number) => Promise<void>, expectLast: () => Promise<void>) => {
    const before = await written()
    const began = performance.now()
    for (let i = 0; i < 10; i += 1) await change(i)
    // Until the last one is told, later ones could still be written.
    await world.until(expectLast)
    const seconds = (performance.now() - began) / 1_000
    const more = (await written()) - before
    expect(more).toBeGreaterThan(0)
    expect(more).toBeLessThanOrEqual(Math.ceil(seconds) + 1)
  }
  await machine.say('paced')
  await world.until(async () => expect(await statusOf('paced')).toMatchObject({ ready: '1/1' }))
  await changeTenTimes(
    (i) => machine.say('paced', { phase: i % 2 === 0 ? 'Running' : 'Failed', message: `${i}` }),
    async () => expect(JSON.stringify((await statusOf('paced'))?.aggregate)).toContain('"9"'),
  )
  await changeTenTimes(
    (i) => machine.tell({ ring: i % 2 === 0 ? 'paced' : 'other' }),
    async () => expect((await statusOf('paced'))?.aggregate).toMatchObject({ matched: 0 }),
  )
})

// FLEET-5
test('gc_refuses_when_cr_list_is_suspiciously_empty: the brake holds many orphans until a person releases them', async () => {
  const machines = await Promise.all(
    ['1', '2', '3', '4', '5', '6'].map((name) => world.device(`brake${name}`, { ring: 'brake' })),
  )
  await world.deploy('many', matching({ ring: 'brake' }))
  for (const machine of machines) await given(machine, { many: 1 })
  await operator.stop()
  for await (const { metadata } of world.kube.list(Deployment, { namespace: world.namespace })) {
    await world.change(metadata.name, { metadata: { finalizers: null } })
    await world.kube.delete(Deployment, metadata.name, world.namespace)
  }
  const before = Object.keys(await world.texts('fleet-desired'))
  expect(before.length).toBeGreaterThan(5)
  operator = await world.operator()
  const brake = await world.until(() => {
    const { brake } = operator.view.recovery()
    if (brake === undefined) throw new Error('the brake does not hold')
    return brake
  })
  expect(Object.keys(await world.texts('fleet-desired'))).toEqual(before)
  const lease = { name: `muster-fleet-${world.namespace}`, namespace: world.namespace }
  const annotations = { 'fleet.nationtech.io/release-orphans': brake.release }
  await world.kube.patch(LEASES, { ...lease, type: 'merge', body: { metadata: { annotations } } })
  await world.until(async () => expect(await world.texts('fleet-desired')).toEqual({}))
})
