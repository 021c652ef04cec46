/** Two real managers as the Sentinel's ServiceAccount: hand-over when one is asked to stop and when one is killed. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { freePort } from '#hack/process/ports.ts'
import { systemClock } from '#operator/index.ts'
import { type Fate, type MusterProcess, startMuster } from '#test/harness/index.ts'
import { type HyperFleetApi, startHyperFleet } from './hyperfleet.ts'
import { type SentinelWorld, sentinelWorld } from './world.ts'

let world: SentinelWorld
let api: HyperFleetApi
const managers: MusterProcess[] = []

/** The 15 s of the lease, and a busy machine. */
const LEASE = { timeout: 60_000, interval: 100 }

const manager = (...more: readonly string[]): Promise<MusterProcess> => managerAt(undefined, ...more)

/** @param server what it takes for the API server's address; undefined for the true one */
const managerAt = async (server: string | undefined, ...more: readonly string[]): Promise<MusterProcess> => {
  const kubeconfig = await world.plane.kubeconfigFor('hyperfleet-sentinel', world.namespace, server)
  const addresses = ['--metrics-bind-address=0', '--health-probe-bind-address=0']
  const flags = [
    '--controllers=sentinel',
    `--namespace=${world.namespace}`,
    `--kubeconfig=${kubeconfig}`,
    `--hyperfleet-api-url=${api.url}`,
    ...addresses,
    ...more,
  ]
  const started = await startMuster(['manager', ...flags])
  managers.push(started)
  return started
}

const pulsed = (name: string) => vi.waitFor(() => expect(api.told()).toContain(`${name} New`), LEASE)

beforeEach(async () => {
  api = await startHyperFleet(systemClock)
  world = await sentinelWorld()
  await world.declare('all', { resourceType: 'clusters', hyperfleetAPI: { url: api.url } })
})

afterEach(async () => {
  await Promise.all(managers.splice(0).map((one) => one.stop()))
  await world[Symbol.asyncDispose]()
  await api[Symbol.asyncDispose]()
})

test('SENTINEL-41, SENTINEL-44: a manager whose --config names nothing is not ready until it is there; it needs no URL', async () => {
  const port = await freePort()
  await manager('--config=late', `--health-probe-bind-address=127.0.0.1:${port}`, `--hyperfleet-api-url=${api.url}`)
  const probe = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz?verbose`)
    return `${answer.status} ${await answer.text()}`
  }
  await vi.waitFor(async () => expect(await probe()).toContain('there is no SentinelConfig late'), LEASE)
  expect(await probe()).toMatch(/^5/)
  await world.declare('late', { resourceType: 'clusters' })
  await vi.waitFor(async () => expect(await probe()).toMatch(/^200/), LEASE)
  await world.until('late', 'Watching')
}, 120_000)

// SENTINEL-32
test('SIGTERM: the lease is released, exit code 0, and the one that stood by goes on without a second New', async () => {
  const first = await manager()
  await api.create('one-cluster')
  await pulsed('one-cluster')
  const second = await manager()
  await second.line('caches are filled')
  first.signal('SIGTERM')
  expect(await first.exited).toEqual({ code: 0, signal: null })
  expect(first.log().map(({ msg }) => msg)).toContain('lease released')
  await api.create('two-cluster')
  await pulsed('two-cluster')
  expect(api.told().filter((pulse) => pulse === 'one-cluster New')).toHaveLength(1)
}, 120_000)

test('SIGKILL: the other takes over when the lease has run out', async () => {
  const first = await manager()
  await api.create('one-cluster')
  await pulsed('one-cluster')
  const second = await manager()
  await second.line('caches are filled')
  first.signal('SIGKILL')
  await first.exited
  await api.create('two-cluster')
  await pulsed('two-cluster')
  expect(second.log().map(({ msg }) => msg)).toContain('lease acquired')
}, 120_000)

// RUNTIME-48, SENTINEL-32
test('a Lease whose renewals are not answered: once it is lost its holder writes nothing, its last status included, and the other goes on', async () => {
  await using proxy = await world.plane.proxy()
  await world.change('all', { backoffNotReady: '30m' })
  const first = await managerAt(proxy.server)
  await api.create('one-cluster')
  await pulsed('one-cluster')
  // What a last status says: until when it was awake, and how many pulses it sent.
  await vi.waitFor(async () => {
    const { status } = await world.config('all')
    expect(status).toMatchObject({ pulses: 1, lastPollTime: expect.any(String) })
  }, LEASE)
  const second = await manager()
  await second.line('caches are filled')

  const end = Promise.withResolvers<Fate>()
  const requests: { readonly at: number; readonly text: string; readonly isHeld: boolean }[] = []
  proxy.decide(({ method, path }) => {
    const isHeld = path.includes('/leases/')
    requests.push({ at: Date.now(), text: `${method} ${path}`, isHeld })
    return isHeld ? end.promise : 'pass'
  })
  const lost = Date.parse((await first.line(({ msg }) => /^lease .* is lost: it was not renewed/.test(msg))).time)
  const later = () => requests.filter(({ at }) => at >= lost)
  // The lease is given back, or asked for again, once its daemon has ended.
  await vi.waitFor(() => expect(later().some(({ isHeld }) => isHeld)).toBe(true), LEASE)
  await second.line('lease acquired')
  await api.create('two-cluster')
  await pulsed('two-cluster')

  const writes = later().filter(({ text, isHeld }) => !isHeld && !text.startsWith('GET '))
  expect(writes).toEqual([])
  expect(api.told().toSorted()).toEqual(['one-cluster New', 'two-cluster New'])
  end.resolve('drop')
}, 120_000)

// API-15, SENTINEL-1
test.each([
  ['that does not come', 'cut'],
  ['that is not answered', 'hang'],
] as const)(
  'SIGKILL at its first pulse, %s: to the next one a cluster that was patched and never reported on is new',
  async (_, fate) => {
    const id = await api.create('one-cluster')
    await api.patch(id)
    const reached = new Promise<void>((resolve) => {
      api.fault = ({ method, path }) => {
        if (method !== 'POST' || !path.endsWith('/events')) return undefined
        resolve()
        return fate
      }
    })
    const first = await manager()
    await reached
    first.signal('SIGKILL')
    await first.exited
    api.fault = () => undefined
    expect(api.told()).toEqual([])
    await manager()
    await pulsed('one-cluster')
  },
  120_000,
)
