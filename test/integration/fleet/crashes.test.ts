/**
 * The operator dies between two of its writes, is cut off, or has much to read. The
 * proxy before the API server holds a request until the operator, a process, is killed (SIGKILL), or drops all of them.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { desiredCodec, heartbeatCodec, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { type MusterProcess, type ProxiedRequest, type RequestProxy, tcpProxy } from '#test/harness/index.ts'
import { converged, type FleetWorld, fleetWorld, type Machine, type Running, scoreOf } from './world.ts'

// Leases of the dead expire before the next operator writes a status.
vi.setConfig({ testTimeout: 180_000 })

let world: FleetWorld

beforeEach(async () => {
  world = await fleetWorld()
})

afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
})

const given = (machine: Machine, wanted: Readonly<Record<string, number>>) =>
  world.until(async () => expect(await machine.wanted()).toEqual(wanted))

const statusOf = async (name: string) => (await world.deployment(name))?.status

/** Holds such requests for good. @returns waits until one is held */
const hold = (proxy: RequestProxy, which: (request: ProxiedRequest) => boolean): (() => Promise<void>) => {
  const held: ProxiedRequest[] = []
  proxy.decide((request) => {
    if (!which(request)) return 'pass'
    held.push(request)
    return new Promise(() => {})
  })
  return () => world.until(() => expect(held).not.toEqual([]))
}

const started = async (proxy: RequestProxy): Promise<MusterProcess> => {
  const operator = await world.process({ server: proxy.server })
  await converged(operator)
  return operator
}

const killed = async (operator: MusterProcess): Promise<void> => {
  operator.signal('SIGKILL')
  await operator.exited
}

// FLEET-9, FLEET-23
test('crash_between_kv_write_and_status_patch: the next operator writes the status, and no key again', async () => {
  await using proxy = await world.plane.proxy()
  const operator = await started(proxy)
  const machine = await world.device('given')
  const isHeld = hold(proxy, ({ method, path }) => method !== 'GET' && path.includes('/deployments/web/status'))
  await world.deploy('web')
  await given(machine, { web: 1 })
  await isHeld()
  await killed(operator)
  expect(await statusOf('web')).toBeUndefined()
  const written = await world.revision('fleet-desired')

  await world.operator()
  await world.until(async () =>
    expect(await statusOf('web')).toMatchObject({ revision: 1, aggregate: { matched: 1, targeted: 1 } }),
  )
  expect(await world.revision('fleet-desired')).toBe(written)
})

// FLEET-25
test('crash_between_status_patch_and_finalizer_removal: the next operator lets the Deployment go, and its keys stay gone', async () => {
  await using proxy = await world.plane.proxy()
  const operator = await started(proxy)
  const machine = await world.device('leaving')
  await world.deploy('web')
  await given(machine, { web: 1 })
  await machine.say('web')
  await world.until(async () => expect(await statusOf('web')).toMatchObject({ ready: '1/1' }))
  const isHeld = hold(proxy, ({ method, path }) => method !== 'GET' && /\/deployments\/web(\?|$)/.test(path))
  await world.kube.delete(Deployment, 'web', world.namespace)
  await isHeld()
  await given(machine, {})
  await killed(operator)
  expect((await world.deployment('web'))?.metadata.finalizers).toContain('fleet.nationtech.io/finalizer')
  const written = await world.revision('fleet-desired')

  await world.operator()
  await world.until(async () => expect(await world.deployment('web')).toBeUndefined())
  expect(await world.revision('fleet-desired')).toBe(written)
})

test('answer_after_deletion: what the API server answers to an older write brings no Deployment back', async () => {
  await using proxy = await world.plane.proxy()
  const operator = await world.operator({ server: proxy.server })
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  const machine = await world.device('late')
  await world.deploy('web')
  await given(machine, { web: 1 })
  const { promise: late, resolve: answer } = Promise.withResolvers<void>()
  proxy.decide(({ method, path }) => (method === 'PUT' && path.endsWith('/web/status') ? { late } : 'pass'))
  await machine.say('web')
  await world.until(async () => expect(await statusOf('web')).toMatchObject({ ready: '1/1' }))
  await world.kube.delete(Deployment, 'web', world.namespace)
  await given(machine, {})
  await world.until(async () => expect(await world.deployment('web')).toBeUndefined())

  answer()
  await world.deploy('next')
  // Its status comes from the pass after the one that waited for the answer.
  await world.until(async () => expect(await statusOf('next')).toMatchObject({ revision: 1 }))
  expect(await machine.wanted()).toEqual({ next: 1 })
  expect(operator.view.ofDeployment(`${world.namespace}/web`)).toEqual([])
})

test('answer_after_deletion: what the API server answers to an older write brings no Device back', async () => {
  await using proxy = await world.plane.proxy()
  const operator = await world.operator({ server: proxy.server })
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  // Devices belong to no namespace: those of other tests are there as well.
  const own = () => operator.view.devices().filter(({ name }) => name.endsWith(world.namespace.slice(-8)))
  const names = () => own().map(({ name }) => name)
  const leaving = await world.device('leaving', { site: 'old' })
  await world.until(() => expect(names()).toEqual([leaving.name]))
  const { promise: late, resolve: answer } = Promise.withResolvers<void>()
  proxy.decide(({ method, path }) => (method === 'PATCH' && path.includes(`/${leaving.name}?`) ? { late } : 'pass'))
  await leaving.tell({ site: 'new' })
  await world.until(async () =>
    expect((await world.kube.get(Device, leaving.name))?.metadata.labels).toMatchObject({ site: 'new' }),
  )
  await leaving.silence()
  await world.until(() => expect(own()).toMatchObject([{ isAlive: false }]))
  await world.kube.delete(Device, leaving.name)
  await world.until(() => expect(names()).toEqual([]))

  answer()
  const next = await world.device('next')
  // Its status comes from the pass after the one that waited for the answer.
  await world.until(async () => expect((await world.kube.get(Device, next.name))?.status).toBeDefined())
  expect(names()).toEqual([next.name])
})

/** What `count` devices have left: `Running` of a Deployment that is gone, and their heartbeats. */
const left = async (count: number): Promise<void> => {
  const [uid, at] = ['00000000-0000-4000-8000-000000000000', new Date().toISOString()]
  const values = {
    'fleet-desired': desiredCodec.encode({ owner: { uid, created: at }, revision: 1, score: scoreOf('left') }, 1),
    'fleet-state': stateCodec.encode({ phase: 'Running', uid, revision: 1, at }, 1),
    'fleet-heartbeat': heartbeatCodec.encode({ boot: 'b', at }, 0),
  }
  const keyOf = (name: keyof typeof values, device: number) =>
    name === 'fleet-heartbeat' ? `d${device}` : `d${device}.${world.namespace}.left`
  for (const name of Object.keys(values) as (keyof typeof values)[])
    await world.bucket(name, async (kv) => {
      for (let i = 0; i < count; i += AT_ONCE)
        await Promise.all(Array.from({ length: AT_ONCE }, (_, j) => kv.put(keyOf(name, i + j), values[name])))
    })
}
const AT_ONCE = 100

/** Each entry of these buckets was taken in once, by what the operator says when it has read them, however often it is cut off. */
const expectReadOnce = ({ lines }: Running, count: number): void => {
  const counts = { desired: new Set<number>(), states: new Set<number>() }
  for (const line of lines) {
    const [, fields] = /^debug fleet: a bucket was read (\{.*\})$/.exec(line) ?? []
    const { bucket, entries } = fields === undefined ? { bucket: '', entries: 0 } : JSON.parse(fields)
    if (bucket === 'desired' || bucket === 'states') counts[bucket as keyof typeof counts].add(entries)
  }
  expect(counts).toEqual({ desired: new Set([count]), states: new Set([count]) })
}

/**
 * The work is bounded, whatever machine does it: each entry is taken in once, what Kubernetes is asked does not grow with the devices, and
 * nothing is written. The five seconds are those of `npm run bench -- fleet`: docs/benchmarks.md.
 */
// FLEET-2, FLEET-78
test('10k_devices_replay_under_5s: everything that 10,000 devices have left is read with few requests, and nothing of it is lost', {
  timeout: 600_000,
}, async () => {
  const first = await world.operator()
  await world.until(() => expect(first.view.recovery().phase).toBe('Converged'))
  await first.stop()
  const count = 10_000
  await left(count)

  await using proxy = await world.plane.proxy()
  const operator = await world.operator({ server: proxy.server })
  const converged = () => expect(operator.view.recovery().phase).toBe('Converged')
  await vi.waitFor(converged, { timeout: 300_000, interval: 50 })
  expectReadOnce(operator, count)
  // Kubernetes is asked about kinds, not about devices.
  expect(proxy.requests().length).toBeLessThan(count / 20)
  // Nothing wants them: all of them wait for a person.
  await world.until(() => expect(operator.view.recovery().brake).toMatchObject({ count }))
  expect(await world.revision('fleet-desired')).toBe(count)
  expect(await operator.registry.getSingleMetricAsString('muster_fleet_malformed_entries_total')).not.toMatch(/} \d/)
})

// FLEET-78
test('a replay that is cut off again and again gets on: what was read is not read again', async () => {
  const first = await world.operator()
  await world.until(() => expect(first.view.recovery().phase).toBe('Converged'))
  await first.stop()
  const count = 2_000
  await left(count)
  await using whole = await tcpProxy(world.nats.url)
  const reading = await world.operator({ natsUrl: whole.url })
  await world.until(() => expect(reading.view.recovery().phase).toBe('Converged'))
  const bytes = whole.carried()
  await reading.stop()

  await using proxy = await tcpProxy(world.nats.url)
  proxy.endAfter(bytes / 4)
  const operator = await world.operator({ natsUrl: proxy.url })
  await world.until(() => expectReadOnce(operator, count))
  proxy.endAfter(Number.POSITIVE_INFINITY)
  await world.until(() => expect(operator.view.recovery()).toMatchObject({ phase: 'Converged', brake: { count } }))
  expect(operator.lines.filter((line) => line.includes('fleet: connected to NATS')).length).toBeGreaterThan(2)
  expect(proxy.carried()).toBeLessThan(2 * bytes)

  // What came in between was not missed, and what went neither.
  const machine = await world.device('late')
  await world.deploy('web')
  await given(machine, { web: 1 })
})

test('operator_partitioned_from_api_server: it says so, hears devices, gives them nothing new, and makes up for it after', async () => {
  await using proxy = await world.plane.proxy()
  const operator = await world.operator({ server: proxy.server })
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  const machine = await world.device('cut-off')
  await world.deploy('web')
  await given(machine, { web: 1 })
  await machine.say('web')
  await world.until(async () => expect(await statusOf('web')).toMatchObject({ ready: '1/1' }))

  proxy.decide(() => 'drop')
  proxy.cut()
  await world.until(() => expect(operator.view.recovery()).toMatchObject({ phase: 'Degraded' }))
  expect(operator.view.recovery().sources.deployments).toMatchObject({ phase: 'Degraded' })
  await machine.say('web', { phase: 'Failed', message: 'no such file' })
  await world.until(() =>
    expect(operator.view.ofDeployment(`${world.namespace}/web`)).toMatchObject([{ phase: 'failed' }]),
  )
  await world.deploy('late')
  const written = await world.revision('fleet-desired')
  expect(await machine.wanted()).toEqual({ web: 1 })

  proxy.decide(() => 'pass')
  await given(machine, { web: 1, late: 1 })
  await world.until(async () => expect(await statusOf('web')).toMatchObject({ ready: '0/1', aggregate: { failed: 1 } }))
  expect(operator.view.recovery().phase).toBe('Converged')
  expect(await world.revision('fleet-desired')).toBe(written + 1)
})
