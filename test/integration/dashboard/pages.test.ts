/** The dashboard over plain HTTP: the JSON twins, what every answer carries, streams, and ten thousand devices. */
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { fill, PATHS } from './scene.ts'
import { startWorld, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
  fill(world)
})
afterAll(() => world?.stop())

const json = async (path: string, from = world): Promise<Record<string, unknown>> => {
  const answer = await fetch(from.url + path)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  return (await answer.json()) as Record<string, unknown>
}

const twinOf = (path: string): string => {
  const [page, query] = path.split('?')
  return `${page === '/' ? '/index' : page}.json${query === undefined ? '' : `?${query}`}`
}

describe('every page', () => {
  test.for(PATHS.map((path) => (path.endsWith('edge-26') ? '/devices/edge-026' : path)))(
    '%s has a JSON twin: the same by .json and by Accept',
    async (path) => {
      const byAccept = await fetch(world.url + path, { headers: { accept: 'application/json' } })
      expect(byAccept.status).toBe(200)
      expect(await byAccept.json()).toEqual(await json(twinOf(path)))
      const page = await fetch(world.url + path, { headers: { accept: 'text/html,application/json;q=0.9' } })
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect((await page.text()).replaceAll('&#38;', '&')).toContain(`href="${twinOf(path)}"`.replaceAll("'", '&#39;'))
    },
  )

  test('carries the headers that keep others out, whatever the answer', async () => {
    for (const path of ['/', '/devices.json', '/nowhere', '/recovery', '/%zz']) {
      const { headers } = await fetch(world.url + path)
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      )
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cache-control')).toBe('no-store')
    }
  })

  test('loads only files of its own, which may be kept for good because their address names their bytes', async () => {
    const page = await (await fetch(`${world.url}/`)).text()
    const files = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '')
    expect(files).toHaveLength(4)
    expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
    for (const path of files) {
      const answer = await fetch(world.url + path)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('cache-control')).toContain('immutable')
    }
  })

  // FLEET-58
  test('is only there to be read', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await fetch(`${world.url}/devices`, { method })).status).toBe(404)
  })
})

test('what does not exist says so, to people and to programs', async () => {
  for (const path of ['/devices/nobody', '/pools/a/b', '/nowhere', '/tasks/hyperfleet-system/cluster-dns/runs/99']) {
    const page = await fetch(world.url + path)
    expect(page.status).toBe(404)
    expect(await page.text()).toContain('Not found')
    expect(await (await fetch(`${world.url}${path}.json`)).json()).toMatchObject({ status: 404 })
  }
})

test('an object whose name ends in .json has a page and a twin of its own', async () => {
  world.shelf.put(ClusterPool, { metadata: { namespace: 'odd', name: 'a.json' }, spec: { size: 1 } })
  onTestFinished(() => world.shelf.remove(ClusterPool, 'odd/a.json'))
  const list = await (await fetch(`${world.url}/pools`)).text()
  expect(list).toContain('href="/pools/odd/a%2Ejson"')
  expect(await (await fetch(`${world.url}/pools/odd/a%2Ejson`)).text()).toContain('<h1>odd/a.json</h1>')
  expect(await json('/pools/odd/a%2Ejson.json')).toMatchObject({ key: 'odd/a.json' })
})

// FLEET-57
test('a name that another site points to this machine is not answered', async () => {
  const asked = (host: string) =>
    new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      request({ port: world.port, path: '/devices.json', headers: { host } }, (response) => {
        text(response).then((body) => resolve({ status: response.statusCode, body }), reject)
      })
        .on('error', reject)
        .end()
    })
  expect((await asked('rebound.example.org')).status).toBe(421)
  expect((await asked('rebound.example.org')).body).not.toContain('edge-')
  for (const host of ['localhost', `localhost:${world.port}`, '127.0.0.1', `[::1]:${world.port}`])
    expect((await asked(host)).status).toBe(200)
})

// FLEET-59
test('what needs a person comes first, the gravest first, each with its reason and the line to look further', async () => {
  const { counts, findings } = await json('/index.json')
  expect(counts).toEqual({ Act: 5, Look: 3, Wait: 2 })
  const rows = (
    findings as { rows: { severity: string; kind: string; subject: string; reason: string; kubectl: string }[] }
  ).rows
  expect(rows.map(({ severity, subject, reason }) => `${severity} ${subject} ${reason}`)).toMatchInlineSnapshot(`
    [
      "Act pools/aws-small BrokenCustomizations",
      "Act pools/gcp-large MissingDependencies",
      "Act shop/camera AwaitsApproval",
      "Act shop/checkout RolloutSuspended",
      "Act hyperfleet-system/cluster-dns DeletionsStuck",
      "Look 6 devices Offline",
      "Look hyperfleet-system/cluster-dns RunsFail",
      "Look shop/checkout DevicesFailed",
      "Wait pools/perf-7 NoClusters",
      "Wait hyperfleet-system/cluster-sentinel-eu Unreachable",
    ]
  `)
  expect(rows.find(({ reason }) => reason === 'AwaitsApproval')?.kubectl).toBe(
    'kubectl annotate deployments.fleet.nationtech.io camera -n shop --overwrite fleet.nationtech.io/approve-batch=2@1',
  )
})

test('lists are filtered by text and by state, and shown a page at a time', async () => {
  expect(await json('/devices.json?state=offline')).toMatchObject({ devices: { total: 6, page: 1, pages: 1 } })
  expect(await json('/devices.json?page=5')).toMatchObject({ devices: { total: 240, page: 5, pages: 5 } })
  // There is no such page: the nearest is shown.
  expect(await json('/devices.json?page=999')).toMatchObject({ devices: { page: 5 } })
  expect(await json('/devices.json?page=-1')).toMatchObject({ devices: { page: 1 } })
  expect(await json('/devices.json?q=REGION%3Doslo')).toMatchObject({ devices: { total: 60 } })
  expect(await json('/preview.json?selector=region+in+(berlin,porto),ring%3Dcanary')).toMatchObject({
    all: 240,
    devices: { total: 24 },
  })
  expect(await json('/preview.json?selector=a%3D(')).toMatchObject({ problem: expect.stringContaining('character 3') })
})

test('the sum of what a Deployment counts is what it matches, as FleetState has it', async () => {
  const { aggregate } = await json('/deployments/shop/checkout.json')
  const { matched, succeeded, failed, pending, offline, unreported, held } = aggregate as Record<string, number>
  expect([succeeded, failed, pending, offline, unreported, held].reduce((sum = 0, count = 0) => sum + count, 0)).toBe(
    matched,
  )
  expect(await json('/deployments/shop/checkout.json?state=failed')).toMatchObject({ placements: { total: failed } })
})

test('a stream tells what is new, section by section, and nothing else', async () => {
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const answer = await fetch(`${world.url}/pools/pools/gcp-large`, {
    headers: { accept: 'text/event-stream' },
    signal: leaving.signal,
  })
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  const chunks = (answer.body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream()).getReader()
  const until = async (word: string): Promise<string> => {
    for (let seen = ''; ; ) {
      const { value, done } = await chunks.read()
      seen += value ?? ''
      if (seen.includes(word)) return seen
      if (done) throw new Error(`the stream ended without ${word}: ${seen}`)
    }
  }
  // It is unknown what is shown, so all of it comes at first.
  expect(await until('</hx-partial>')).toContain('hx-target="#sections"')
  const pool = world.shelf.of(ClusterPool)?.get('pools/gcp-large')
  if (pool === undefined) throw new Error('the scene has no such pool')
  world.shelf.put(ClusterPool, { ...pool, status: { ...pool.status, claimed: 77 } })
  const changes = await until('</hx-partial>')
  expect(changes).toContain('hx-target="#s-state"')
  expect(changes).toContain('77')
  expect(changes).not.toContain('s-conditions')
})

test('ten thousand devices: pages stay as short as with fifty', async () => {
  await using large = await startWorld()
  for (let n = 0; n < 10_000; n++) large.fleet.join(`device-${n}`, { region: `r${n % 7}`, rack: `k${n % 400}` })
  large.fleet.converge()
  const page = await (await fetch(`${large.url}/devices`)).text()
  expect(page.match(/<tr id=/g)).toHaveLength(50)
  expect(page).toContain('10\u2009000')
  expect(page.length).toBeLessThan(100_000)
  expect(await json('/devices.json?q=rack%3Dk399&page=1', large)).toMatchObject({ devices: { total: 25 } })
  expect(await json('/preview.json?selector=region%3Dr6', large)).toMatchObject({ devices: { total: 1_428 } })
})
