import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '#hack/process/ports.ts'
import { startMuster } from '#test/harness/index.ts'
import { openWatch } from './support.ts'

test('SIGTERM: not ready at once, still serving for the delay, requests under way are answered, streams end, exit 0', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-shutdown-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [health, metrics] = [await freePort(), await freePort()]
  await using api = await startMuster([
    'api',
    '--bind-address=127.0.0.1:0',
    `--metrics-bind-address=127.0.0.1:${metrics}`,
    `--health-probe-bind-address=127.0.0.1:${health}`,
    `--data-dir=${folder}`,
    '--shutdown-delay=3s',
  ])
  const url = String((await api.line('the HyperFleet API is serving')).url)
  const base = `${url}/api/hyperfleet/v1`
  const post = (path: string, body: object) => fetch(`${base}${path}`, { method: 'POST', body: JSON.stringify(body) })
  const ready = async () => (await fetch(`http://127.0.0.1:${health}/readyz`)).status

  await fetch(`${base}/events/consumers/dns`, { method: 'PUT', body: JSON.stringify({ resourceType: 'clusters' }) })
  const claim = post('/events/consumers/dns/claims', { wait: '60s' })
  const stream = await openWatch({ url } as Parameters<typeof openWatch>[0], '/clusters?watch=true')
  await stream.until(({ type }) => type === 'bookmark')
  const halfSent = connect(Number(new URL(url).port), '127.0.0.1')
  await once(halfSent, 'connect')
  const body = JSON.stringify({ name: 'half', spec: {} })
  halfSent.write(
    `POST /api/hyperfleet/v1/clusters HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
  )
  expect(await ready()).toBe(200)

  api.signal('SIGTERM')
  await vi.waitUntil(async () => (await ready()) === 503, { timeout: 30_000, interval: 10 })
  expect((await post('/clusters', { name: 'late', spec: {} })).status).toBe(201)
  expect((await fetch(`http://127.0.0.1:${metrics}/metrics`)).status).toBe(200)
  expect((await stream.next()).object.name).toBe('late')
  halfSent.write(body.slice(5))
  expect(await text(halfSent)).toMatch(/^HTTP\/1\.1 201 /)
  expect((await stream.until(({ type }) => type === 'end')).at(-1)?.object).toEqual({ reason: 'ServerStopping' })
  expect((await claim).status).toBe(200)
  expect(await api.exited).toEqual({ code: 0, signal: null })
})
