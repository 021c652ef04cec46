/** The dashboard as people see it: in Chromium, with its content security policy. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { findChromium } from '#hack/chromium/find.ts'
import { chromiumMissing } from '#hack/chromium/missing.ts'
import { fill, PATHS } from './scene.ts'
import { startWorld, type World, type WorldOptions } from './world.ts'

/** Milliseconds. A busy machine is slow; a page that is right is right at once. */
const PATIENCE = 30_000
const WIDE = { width: 1_440, height: 900 }
const NARROW = { width: 360, height: 740 }

const missing = chromiumMissing()
if (missing !== undefined) console.error(`tests of the dashboard in a browser are skipped: ${missing}`)

let browser: Browser

beforeAll(async () => {
  const executablePath = findChromium()
  // Root can't have Chromium's sandbox; what is loaded here is ours.
  if (executablePath !== undefined) browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
})

afterAll(() => browser?.close())

interface Opened {
  readonly page: Page
  /** What the browser complained of: mistakes of scripts, and what the policy refused. */
  readonly complaints: readonly string[]
  /** How often a path was asked for. */
  requests(path: string): number
}

const open = async (world: World, path: string, options: BrowserContextOptions = {}): Promise<Opened> => {
  const context = await browser.newContext({ viewport: WIDE, ...options })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const complaints: string[] = []
  const asked: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto(world.url + path)
  return {
    page,
    complaints,
    requests: (wanted) => asked.filter((each) => each === wanted).length,
  }
}

const world = async (options?: WorldOptions): Promise<World> => {
  const started = await startWorld(options)
  onTestFinished(() => started.stop())
  return started
}

const isLive = (page: Page) => page.waitForSelector('[data-live="on"]', { state: 'attached' })

test('in CI there is a browser: what needs one may not be left out', () => {
  if (process.env.CI === 'true') expect(missing).toBeUndefined()
})

describe.skipIf(missing !== undefined)('the recovery banner', () => {
  // FLEET-56
  test('appears while sources are replayed, tells how far each is, clears itself and stops asking', async () => {
    const { fleet, ...rest } = await world()
    const { page, complaints, requests } = await open({ fleet, ...rest }, '/')
    const banner = page.locator('#recovery')

    await banner.getByText('Rebuilding', { exact: true }).waitFor()
    expect(await banner.getByRole('listitem').allInnerTexts()).toEqual([
      'Deployments rebuilding',
      'Devices rebuilding',
      'States rebuilding',
    ])
    expect(await banner.getAttribute('role')).toBe('status')

    for (const feed of ['deployments', 'revisions'] as const) fleet.tell(feed, { type: 'Replayed' })
    fleet.tell('devices', { type: 'Progress', replayed: 812, total: 900 })
    await banner.getByText('812/900 replayed').waitFor()
    expect(await banner.getByRole('listitem').allInnerTexts()).toEqual([
      'Deployments ready',
      'Devices 812/900 replayed',
      'States rebuilding',
    ])
    expect(requests('/recovery')).toBeGreaterThan(0)

    fleet.converge()
    await vi.waitFor(async () => expect(await banner.innerHTML()).toBe(''), { timeout: PATIENCE, interval: 100 })
    const asked = requests('/recovery')
    // Longer than three of its intervals: had it a timer, it would ask.
    await page.waitForTimeout(7_000)
    expect(requests('/recovery')).toBe(asked)
    expect(complaints).toEqual([])
  })

  // FLEET-56
  test('is not there, and nothing asks, when all was converged at the start', async () => {
    const { fleet, ...rest } = await world()
    fleet.converge()
    const { page, requests } = await open({ fleet, ...rest }, '/deployments')
    await isLive(page)
    await page.waitForTimeout(3_000)
    expect(await page.locator('#recovery').innerHTML()).toBe('')
    expect(requests('/recovery')).toBe(0)
  })

  test('comes back by itself when a source is lost, says since when and why, and goes when it is back', async () => {
    const { fleet, ...rest } = await world()
    fleet.converge()
    const { page } = await open({ fleet, ...rest }, '/devices')
    await isLive(page)
    const banner = page.locator('#recovery')
    fleet.tell('states', { type: 'Lost', problem: 'NATS does not answer' })
    await banner.getByText('NATS does not answer').waitFor()
    expect(await banner.innerText()).toContain('Degraded')
    fleet.tell('states', { type: 'Replayed' })
    await vi.waitFor(async () => expect(await banner.innerHTML()).toBe(''), { timeout: PATIENCE, interval: 100 })
  })

  test('moves nothing on the page when it comes and goes', async () => {
    const { fleet, ...rest } = await world()
    fill({ fleet, ...rest })
    const { page } = await open({ fleet, ...rest }, '/devices', { viewport: NARROW })
    await isLive(page)
    const places = () =>
      page.evaluate<number[]>(`[...document.querySelectorAll('h1, tr')].map((e) => e.getBoundingClientRect().top)`)
    const before = await places()
    fleet.tell('heartbeats', { type: 'Lost', problem: 'NATS does not answer' })
    await page.locator('#recovery').getByText('Degraded').waitFor()
    expect(await places()).toEqual(before)
  })

  test('is there after the manager was restarted under an open page, which finds its way back by itself', async () => {
    const own = await world()
    own.fleet.converge()
    const { page } = await open(own, '/devices')
    await isLive(page)
    await own.stop()
    await page.waitForSelector('[data-live="off"]', { state: 'attached' })
    own.fleet.tell('devices', { type: 'Wiped' })
    await own.restart()
    await page.locator('#recovery').getByText('Rebuilding', { exact: true }).waitFor()
    await isLive(page)
  })
})

describe.skipIf(missing !== undefined)('an open page', () => {
  test('shows what changes, swaps only what changed, and keeps focus, what is typed and where one has scrolled to', async () => {
    const own = await world()
    fill(own)
    const { page, complaints } = await open(own, '/pools/pools/aws-small')
    await isLive(page)
    await page.locator('#filter').fill('cdc')
    // What is made anew has no marks.
    await page.evaluate(`
      window.scrollTo(0, 300)
      for (const element of document.querySelectorAll('main section, tr')) element.dataset.mark = 'old'
      window.shifts = 0
      new PerformanceObserver((list) => {
        for (const { hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shifts += 1
      }).observe({ type: 'layout-shift' })
    `)

    const pool = own.shelf.of(ClusterPool)?.get('pools/aws-small')
    if (pool === undefined) throw new Error('the scene has no such pool')
    own.shelf.put(ClusterPool, { ...pool, status: { ...pool.status, claimed: 41 } })
    await page.locator('#s-state').getByText('41').waitFor()

    const seen = await page.evaluate(`({
      focused: document.activeElement.id,
      typed: document.getElementById('filter').value,
      scrolled: window.scrollY,
      marks: [...document.querySelectorAll('main tr')].every((row) => row.dataset.mark === 'old'),
      shifts: window.shifts,
    })`)
    expect(seen).toEqual({ focused: 'filter', typed: 'cdc', scrolled: 300, marks: true, shifts: 0 })
    expect(complaints).toEqual([])
  })

  test('says so when what it shows was deleted', async () => {
    const own = await world()
    fill(own)
    const { page } = await open(own, '/tasks/hyperfleet-system/cluster-config')
    await isLive(page)
    own.shelf.remove(AdapterTask, 'hyperfleet-system/cluster-config')
    await page.getByText('It is gone').waitFor()
  })

  test('lists something new that needs attention, in its place', async () => {
    const own = await world({ withoutFleet: true })
    own.shelf.watch(ClusterPool)
    const { page } = await open(own, '/')
    await page.getByText('Nothing needs you.').waitFor()
    await isLive(page)
    fill(own)
    await page.getByText('BrokenCustomizations').waitFor()
    expect(await page.locator('.finding').first().innerText()).toContain(
      'kubectl describe clusterpools.hive.openshift.io aws-small -n pools',
    )
  })
})

describe.skipIf(missing !== undefined)('by keyboard alone', () => {
  test('the first Tab leads past the menu, / to the filter, Enter filters, j and k go through the rows', async () => {
    const own = await world()
    fill(own)
    const { page, complaints } = await open(own, '/devices')
    await page.keyboard.press('Tab')
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('main')

    await page.keyboard.press('/')
    await page.keyboard.type('region=oslo edge-01')
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=region%3Doslo\+edge-01/)
    const rows = page.locator('tbody tr')
    const count = await rows.count()
    expect(count).toBeGreaterThan(1)
    for (const text of await rows.allInnerTexts()) expect(text).toContain('region=oslo')

    await page.keyboard.press('j')
    await page.keyboard.press('j')
    const second = await page.evaluate<string>('document.activeElement.textContent')
    expect(second).toBe(await rows.nth(1).locator('th').innerText())
    await page.keyboard.press('k')
    await page.keyboard.press('j')
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    expect(outline).toBe('solid')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/devices/${second}`)
    expect(complaints).toEqual([])
  })

  test('keys do nothing while one types', async () => {
    const own = await world()
    fill(own)
    const { page } = await open(own, '/preview')
    await page.keyboard.press('/')
    await page.keyboard.type('region/j,k=(')
    expect(await page.locator('#filter').inputValue()).toBe('region/j,k=(')
    await page.keyboard.press('Enter')
    await page.locator('#problem').waitFor()
    expect(await page.locator('#filter').getAttribute('aria-invalid')).toBe('true')
  })
})

describe.skipIf(missing !== undefined)('what others write into objects', () => {
  // FLEET-58
  test('is shown as text, wherever it stands, and nothing of it runs', async () => {
    const own = await world()
    const evil = `<script>window.hacked=1</script><img src=x onerror="window.hacked=1">"'><hx-partial hx-target="body">`
    own.shelf.put(ClusterPool, {
      metadata: { namespace: 'pools', name: evil },
      spec: { size: 1 },
      status: {
        inventory: { [evil]: { status: 'BrokenByCloud', message: evil } },
        conditions: [
          { type: 'Stalled', status: 'True', reason: evil, message: evil, lastTransitionTime: '2026-01-01T00:00:00Z' },
        ],
      },
    })
    own.fleet.join('edge-1', { [evil]: evil })
    own.fleet.deploy('shop')
    own.fleet.say('edge-1', 'shop', { phase: 'Failed', message: evil })
    own.fleet.converge()
    const { page, complaints } = await open(own, '/')
    for (const path of [
      '/',
      '/pools',
      `/pools/pools/${encodeURIComponent(evil)}`,
      '/devices',
      '/devices/edge-1',
      '/deployments/shop/shop',
      `/devices?q=${encodeURIComponent(evil)}`,
      `/preview?selector=${encodeURIComponent(evil)}`,
    ]) {
      await page.goto(own.url + path)
      await isLive(page)
      // By the stream as well.
      own.fleet.say('edge-1', 'shop', { phase: 'Failed', message: `${evil} again at ${path}` })
      expect(await page.locator('main script, main img').count()).toBe(0)
      expect(await page.evaluate(`'hacked' in window`)).toBe(false)
    }
    await page.goto(`${own.url}/deployments/shop/shop`)
    await page.getByText('again at').first().waitFor()
    expect(await page.evaluate(`'hacked' in window`)).toBe(false)
    expect(complaints).toEqual([])
  })

  // FLEET-58
  test('would not run even if it were not escaped: the policy refuses what is inline', async () => {
    const own = await world()
    const { page, complaints } = await open(own, '/')
    await page.evaluate(`
      const script = document.createElement('script')
      script.textContent = 'window.hacked = 1'
      document.body.append(script)
    `)
    expect(await page.evaluate(`'hacked' in window`)).toBe(false)
    expect(complaints.join()).toContain('Content Security Policy')
  })
})

describe.skipIf(missing !== undefined)('every page, in both colour schemes, wide and narrow', () => {
  const LOOKS = (['light', 'dark'] as const).flatMap((colorScheme) =>
    [WIDE, NARROW].map((viewport) => ({ colorScheme, viewport })),
  )
  let own: World
  let axe: string

  beforeAll(async () => {
    own = await startWorld()
    fill(own, 40)
    axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  })
  afterAll(() => own?.stop())

  test.for(PATHS)(
    '%s: no violation of axe-core, and nothing wider than the window',
    { timeout: 180_000 },
    async (path) => {
      // The checker is a script of ours that no page loads: this context alone has no policy.
      const { page, complaints } = await open(own, path, { bypassCSP: true, reducedMotion: 'reduce' })
      await isLive(page)
      await page.evaluate(axe)
      for (const { colorScheme, viewport } of LOOKS) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize(viewport)
        const { violations } = await page.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations'] })`)
        const found = violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ html }) => html).slice(0, 3) }))
        const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')
        expect({ colorScheme, viewport, found, overflow: Math.max(0, overflow) }).toEqual({
          colorScheme,
          viewport,
          found: [],
          overflow: 0,
        })
      }
      expect(complaints).toEqual([])
    },
  )
})
