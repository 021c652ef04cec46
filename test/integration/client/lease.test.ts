import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createApi } from '#operator/client/api.ts'
import { LeaseLostError, type LeaseOptions, runWithLease } from '#operator/client/lease.ts'
import { LEASES } from '#operator/client/lease-record.ts'
import { silent } from '#operator/model/log.ts'
import { manualClock, sharedControlPlane } from '#test/harness/index.ts'
import { CONFIG_MAPS, configMap, transportOf } from './world.ts'

const NAME = 'lease'

const world = async () => {
  const controlPlane = await sharedControlPlane()
  const namespace = await controlPlane.namespace('lease')
  const api = createApi(transportOf(controlPlane.kubeconfig))
  const spec = async () => (await api.get(LEASES, NAME, namespace))?.spec
  return { controlPlane, namespace, api, spec }
}

interface Contender {
  /** The reasons its work was stopped for. */
  readonly stops: unknown[]
  readonly holders: string[]
  readonly stop: AbortController
  readonly done: Promise<void>
  isLeading(): boolean
}

/** Wants the lease, and works until it is told to stop. */
const contend = (options: Omit<LeaseOptions, 'name' | 'log' | 'signal'>): Contender => {
  const stop = new AbortController()
  const stops: unknown[] = []
  const holders: string[] = []
  let isLeading = false
  const wanted = {
    ...options,
    name: NAME,
    log: silent,
    signal: stop.signal,
    random: () => 0,
    onHolder: (holder: string) => holders.push(holder),
  }
  const done = runWithLease(wanted, async (leading) => {
    isLeading = true
    await once(leading, 'abort')
    isLeading = false
    stops.push(leading.reason)
  })
  onTestFinished(async () => {
    stop.abort()
    await done
  })
  return { stops, holders, stop, done, isLeading: () => isLeading }
}

// RUNTIME-31
test('one of two works, and hands over when it stops, without waiting for the lease to expire', async () => {
  const { namespace, api, spec } = await world()
  const clock = manualClock()
  const a = contend({ api, namespace, identity: 'a', clock })
  await expect.poll(a.isLeading).toBe(true)
  expect(await spec()).toEqual({
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
    leaseTransitions: 0,
  })
  const b = contend({ api, namespace, identity: 'b', clock })
  await expect.poll(() => b.holders).toEqual(['a'])
  a.stop.abort()
  await a.done
  expect(await spec()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 })
  expect(b.isLeading()).toBe(false)
  await expect.poll(() => clock.sleepers()).toBe(1)
  await clock.advance('2s')
  await expect.poll(b.isLeading).toBe(true)
  expect(await spec()).toMatchObject({
    holderIdentity: 'b',
    leaseTransitions: 1,
    renewTime: '2026-01-01T00:00:02.000000Z',
  })
  expect(b.holders).toEqual(['a', '', 'b'])
})

test.each(['takes', 'renews'])(
  'one that stops while it %s the lease gives it back, although it never hears that it has it',
  async (what) => {
    const { controlPlane, namespace, spec } = await world()
    await using proxy = await controlPlane.proxy()
    const clock = manualClock()
    const isTaking = what === 'takes'
    const cutOff = () => proxy.decide(({ method }) => (method === 'GET' ? 'pass' : { late: new Promise(() => {}) }))
    if (isTaking) cutOff()
    const a = contend({ api: createApi(transportOf(proxy.kubeconfig)), namespace, identity: 'a', clock })
    if (!isTaking) {
      await expect.poll(a.isLeading).toBe(true)
      cutOff()
      await expect.poll(() => clock.sleepers()).toBe(1)
      await clock.advance('2s')
    }
    const renewTime = isTaking ? '2026-01-01T00:00:00.000000Z' : '2026-01-01T00:00:02.000000Z'
    await expect.poll(spec).toMatchObject({ holderIdentity: 'a', renewTime })
    proxy.decide(() => 'pass')
    a.stop.abort()
    await a.done
    expect(await spec()).toMatchObject({ holderIdentity: '' })
  },
)

// RUNTIME-30
test('a holder that is cut off stops its work before another takes over', async () => {
  const { controlPlane, namespace, api } = await world()
  await using proxy = await controlPlane.proxy()
  const clock = manualClock()
  const a = contend({ api: createApi(transportOf(proxy.kubeconfig)), namespace, identity: 'a', clock })
  await expect.poll(a.isLeading).toBe(true)
  const b = contend({ api, namespace, identity: 'b', clock })
  await expect.poll(() => b.holders).toEqual(['a'])

  proxy.decide(() => 'drop')
  const started = clock.now().getTime()
  let stoppedAfter = 0
  while (!b.isLeading()) {
    expect(a.isLeading() && b.isLeading()).toBe(false)
    await clock.advance('500ms')
    await delay(5) // real requests are under way
    if (!a.isLeading()) stoppedAfter ||= clock.now().getTime() - started
  }
  expect(stoppedAfter).toBeGreaterThan(8_000)
  expect(stoppedAfter).toBeLessThanOrEqual(10_500)
  expect(clock.now().getTime() - started).toBeGreaterThanOrEqual(15_000)
  expect(a.stops[0]).toBeInstanceOf(LeaseLostError)
  expect(String(a.stops[0])).toContain('it was not renewed for 10 s')
})

test('a renewal that hangs is given up at the deadline', async () => {
  const { controlPlane, namespace } = await world()
  await using proxy = await controlPlane.proxy()
  const clock = manualClock()
  const a = contend({ api: createApi(transportOf(proxy.kubeconfig)), namespace, identity: 'a', clock })
  await expect.poll(a.isLeading).toBe(true)
  await expect.poll(() => clock.sleepers()).toBe(1)
  const held = Promise.withResolvers<'drop'>()
  proxy.decide(() => held.promise)
  const asked = proxy.requests().length
  await clock.advance('2s')
  await expect.poll(() => proxy.requests().length).toBe(asked + 1)
  await clock.advance('7999ms')
  expect(a.isLeading()).toBe(true)
  await clock.advance('1ms')
  await expect.poll(a.isLeading).toBe(false)
  held.resolve('drop')
})

test('a lost lease is taken again when it is free, and the work begins anew', async () => {
  const { namespace, api, spec } = await world()
  const clock = manualClock()
  const a = contend({ api, namespace, identity: 'a', clock })
  await expect.poll(a.isLeading).toBe(true)
  await api.patch(LEASES, {
    name: NAME,
    namespace,
    type: 'merge',
    body: { spec: { holderIdentity: 'thief', renewTime: null } },
  })
  await expect.poll(() => clock.sleepers()).toBe(1)
  await clock.advance('2s') // the renewal meets a conflict
  while (a.stops.length === 0) {
    await clock.advance('100ms')
    await delay(5)
  }
  expect(String(a.stops[0])).toContain('thief holds it')
  expect((await spec())?.holderIdentity).toBe('thief')
  while (!a.isLeading()) {
    await clock.advance('500ms')
    await delay(5)
  }
  expect(await spec()).toMatchObject({ holderIdentity: 'a', leaseTransitions: 1 })
})

test('a lease is renewed with one request, and survives being deleted', async () => {
  const { controlPlane, namespace, api, spec } = await world()
  await using proxy = await controlPlane.proxy()
  const clock = manualClock()
  const a = contend({ api: createApi(transportOf(proxy.kubeconfig)), namespace, identity: 'a', clock })
  await expect.poll(a.isLeading).toBe(true)
  await expect.poll(() => clock.sleepers()).toBe(1)
  const asked = proxy.requests().length
  await clock.advance('2s')
  await expect.poll(async () => (await spec())?.renewTime).toBe('2026-01-01T00:00:02.000000Z')
  expect(
    proxy
      .requests()
      .slice(asked)
      .map(({ method }) => method),
  ).toEqual(['PUT'])
  await api.delete(LEASES, NAME, namespace)
  while ((await spec())?.holderIdentity !== 'a') {
    await clock.advance('500ms')
    await delay(5)
  }
  expect(a.stops).toEqual([])
})

test('work that ends by itself releases the lease, work that throws does too and is told', async () => {
  const { namespace, api, spec } = await world()
  const options = {
    api,
    namespace,
    name: NAME,
    identity: 'a',
    clock: manualClock(),
    log: silent,
    signal: new AbortController().signal,
  }
  await runWithLease(options, async () => expect((await spec())?.holderIdentity).toBe('a'))
  expect((await spec())?.holderIdentity).toBe('')
  const boom = new Error('boom')
  await expect(runWithLease(options, () => Promise.reject(boom))).rejects.toBe(boom)
  expect((await spec())?.holderIdentity).toBe('')
})

test('a Lease of an object names its owner, with which it goes', async () => {
  const { namespace, api } = await world()
  const owner = await api.create(CONFIG_MAPS, configMap(namespace, 'owner'))
  const { name, uid } = owner.metadata
  const ownerReference = { apiVersion: 'v1', kind: 'ConfigMap', name, uid }
  const a = contend({ api, namespace, identity: 'a', clock: manualClock(), ownerReference })
  await expect.poll(a.isLeading).toBe(true)
  a.stop.abort()
  await a.done
  expect((await api.get(LEASES, NAME, namespace))?.metadata.ownerReferences).toEqual([ownerReference])

  await api.delete(CONFIG_MAPS, name, namespace)
  await expect.poll(() => api.get(LEASES, NAME, namespace), { timeout: 30_000 }).toBeUndefined()
})

test('times with which two could work at once are refused', async () => {
  const { namespace, api } = await world()
  const options = {
    api,
    namespace,
    name: NAME,
    identity: 'a',
    clock: manualClock(),
    log: silent,
    signal: AbortSignal.abort(),
  }
  await expect(runWithLease({ ...options, times: { leaseDuration: '5s' } }, () => Promise.resolve())).rejects.toThrow(
    'lease times must satisfy leaseDuration > renewDeadline > 1.2 × retryPeriod',
  )
})

/** A real process that wants the lease. */
const contender = (kubeconfig: string, namespace: string, identity: string, log: string[]) => {
  const program = join(import.meta.dirname, 'lease-contender.ts')
  const child = spawn(process.execPath, [program, kubeconfig, namespace, NAME, identity], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  createInterface(child.stdout).on('line', (line) => log.push(`${identity} ${line}`))
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}

test('of two processes one works; a killed one is followed after the lease, a stopped one at once', {
  timeout: 120_000,
}, async () => {
  const { controlPlane, namespace, spec } = await world()
  const log: string[] = []
  const wait = { timeout: 40_000 }
  const start = (identity: string) => contender(controlPlane.kubeconfig, namespace, identity, log)

  const a = start('a')
  await expect.poll(() => log, wait).toEqual(['a waiting', 'a leading'])
  const b = start('b')
  await expect.poll(() => log, wait).toContain('b waiting')
  expect(log).not.toContain('b leading')
  a.kill('SIGKILL')
  await expect.poll(() => log, wait).toContain('b leading')
  expect(await spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 })

  start('c')
  await expect.poll(() => log, wait).toContain('c waiting')
  b.kill('SIGTERM')
  await expect.poll(() => log, wait).toContain('c leading')
  expect(log.filter((line) => !line.endsWith('waiting'))).toEqual(
    expect.arrayContaining(['a leading', 'b leading', 'b stopped', 'b done', 'c leading']),
  )
  expect(log.indexOf('b stopped')).toBeLessThan(log.indexOf('c leading'))
  expect(await spec()).toMatchObject({ holderIdentity: 'c', leaseTransitions: 2 })
  if (b.exitCode === null) await once(b, 'exit')
  expect(b.exitCode).toBe(0)
})
