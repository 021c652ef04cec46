/** The dashboard of a manager that runs the fleet operator: a real API server, a real NATS, a real Chromium. */
import { cp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { findChromium } from '#hack/chromium/find.ts'
import { chromiumMissing } from '#hack/chromium/missing.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type MusterProcess, startMuster, tcpProxy } from '#test/harness/index.ts'
import { type FleetWorld, fleetWorld } from '#test/integration/fleet/world.ts'

const PATIENCE = { timeout: 60_000, interval: 100 }
const REPORTS = 3_000

let world: FleetWorld
let manager: MusterProcess
let port = 0

const startManager = async (at: number, natsUrl = world.nats.url): Promise<void> => {
  manager = await startMuster(
    [
      'manager',
      '--controllers=fleet',
      `--namespace=${world.namespace}`,
      `--kubeconfig=${await world.plane.kubeconfigFor('fleet-operator', world.namespace)}`,
      `--nats-url=${natsUrl}`,
      '--device-labels=*',
      '--metrics-bind-address=0',
      '--health-probe-bind-address=0',
      `--dashboard-bind=127.0.0.1:${at}`,
    ],
    { POD_NAMESPACE: world.namespace },
  )
  port = Number((await manager.line('serving the dashboard')).port)
}

beforeAll(async () => {
  world = await fleetWorld()
  await startManager(0)
}, 180_000)

afterAll(async () => {
  await manager?.stop()
  await world?.[Symbol.asyncDispose]()
})

const json = async (path: string): Promise<unknown> => (await fetch(`http://127.0.0.1:${port}${path}`)).json()

const until = (path: string, shows: object) =>
  vi.waitFor(async () => expect(await json(path)).toMatchObject(shows), PATIENCE)

test('shows what devices say, of the moment', { timeout: 180_000 }, async () => {
  await until('/recovery.json', { phase: 'Converged' })
  const device = await world.device('edge', { region: 'oslo' })
  await world.deploy('checkout')
  const key = `${world.namespace}/checkout`
  await until('/deployments.json', { deployments: { rows: [{ key, aggregate: { matched: 1, unreported: 1 } }] } })
  await device.say('checkout', { phase: 'Failed', message: 'exit code 1' })
  await until(`/deployments/${key}.json`, {
    aggregate: { failed: 1 },
    placements: { rows: [{ device: device.name, phase: 'failed', message: 'exit code 1' }] },
  })
  await until('/index.json?q=DevicesFailed', { findings: { rows: [{ subject: key, severity: 'Look' }] } })
  await device.say('checkout')
  await until('/devices.json?q=oslo', { devices: { rows: [{ name: device.name, state: 'good' }] } })
})

test('after a kill it is back with what there was', { timeout: 180_000 }, async () => {
  manager.signal('SIGKILL')
  await manager.exited
  await startManager(port)
  await until('/recovery.json', { phase: 'Converged' })
  await until('/devices.json?q=oslo', { counts: { good: 1 } })
})

test('in CI there is a browser: what needs one may not be left out', () => {
  if (process.env.CI === 'true') expect(chromiumMissing()).toBeUndefined()
})

describe.skipIf(chromiumMissing() !== undefined)('in Chromium', () => {
  test('the banner comes when NATS is lost, and goes by itself when it is back', { timeout: 180_000 }, async () => {
    const browser = await chromium.launch({ executablePath: findChromium() ?? '', args: ['--no-sandbox'] })
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    page.setDefaultTimeout(PATIENCE.timeout)
    await page.goto(`http://127.0.0.1:${port}/devices`)
    await page.waitForSelector('[data-live="on"]', { state: 'attached' })
    const banner = page.locator('#recovery')
    expect(await banner.innerHTML()).toBe('')

    await world.nats.kill()
    await banner.getByText('Degraded', { exact: true }).waitFor()
    await until('/index.json?q=Degraded', { counts: { Act: expect.any(Number) } })
    await world.nats.restart()
    await vi.waitFor(async () => expect(await banner.innerHTML()).toBe(''), PATIENCE)
    await until('/devices.json', { isPartial: false })
  })

  // FLEET-56, FLEET-63
  test('the banner says that the store went back, and goes by itself when all of it was read again', {
    timeout: 240_000,
  }, async () => {
    // Of devices that are not here; as many as can't be read in one go through what is between.
    const reports = async () =>
      world.bucket('fleet-state', async (kv) => {
        const state = { phase: 'Running', uid: world.namespace, revision: 1, at: new Date().toISOString() } as const
        for (let i = 0; i < REPORTS; i += 100)
          await Promise.all(
            Array.from({ length: 100 }, (_, j) =>
              kv.put(`d${i + j}.${world.namespace}.gone`, stateCodec.encode(state, 1)),
            ),
          )
      })
    await using proxy = await tcpProxy(world.nats.url)
    await manager.stop()
    await startManager(port, proxy.url)
    await reports()
    await until('/recovery.json', { phase: 'Converged' })
    const store = join(dirname(world.nats.logFile), 'jetstream')
    const backup = await temporaryFolder('backup')
    await world.nats.kill()
    await cp(store, backup, { recursive: true })
    await world.nats.restart()
    await until('/recovery.json', { phase: 'Converged' })
    await reports()
    // What comes last was seen, so all before it was.
    const device = await world.device('edge', { region: 'oslo' })
    await device.say('checkout', { phase: 'Failed', message: 'the last word' })
    await until(`/deployments/${world.namespace}/checkout.json`, {
      placements: { rows: [{ message: 'the last word' }] },
    })

    const browser = await chromium.launch({ executablePath: findChromium() ?? '', args: ['--no-sandbox'] })
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    page.setDefaultTimeout(PATIENCE.timeout)
    await page.goto(`http://127.0.0.1:${port}/devices`)
    const banner = page.locator('#recovery')
    await vi.waitFor(async () => expect(await banner.innerHTML()).toBe(''), PATIENCE)

    await world.nats.kill()
    await rm(store, { recursive: true })
    await cp(backup, store, { recursive: true })
    proxy.endAfter(REPORTS * 20)
    await world.nats.restart()
    await banner.getByText('Rebuilding', { exact: true }).waitFor()
    await banner.getByText(/the bucket fleet-state went back from revision \d+ to \d+/).waitFor()
    proxy.endAfter(Number.POSITIVE_INFINITY)
    await vi.waitFor(async () => expect(await banner.innerHTML()).toBe(''), PATIENCE)
    await until('/recovery.json', { phase: 'Converged' })
  })
})
