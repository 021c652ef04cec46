import { afterEach, expect, test } from 'vitest'
import { manualClock } from '#test/harness/clock.ts'
import { createHealth, type Health, serveHealth } from './health.ts'
import type { SideServer } from './serve.ts'

const servers: SideServer[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()))
})

const ask = async (health: Health, path: string, init?: RequestInit) => {
  const server = await serveHealth(health, { host: '127.0.0.1', port: 0 }, '--flag')
  servers.push(server)
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, init)
  return `${response.status} ${await response.text()}`
}

test('alive while every loop beats in time, and again when it moves on', async () => {
  const clock = manualClock()
  const health = createHealth(clock)
  const loop = health.heartbeat('pulse loop', '30s')
  expect(await ask(health, '/healthz')).toBe('200 ok\n')
  await clock.advance('30s')
  expect(await ask(health, '/healthz')).toBe('200 ok\n')
  await clock.advance('1s')
  expect(await ask(health, '/healthz')).toBe(
    '503 [-]pulse loop failed: no move for 31s, at most 30s is expected\nhealthz check failed\n',
  )
  loop.beat()
  expect(await ask(health, '/healthz?verbose')).toBe('200 [+]pulse loop ok\nhealthz check passed\n')
})

test('a loop that ended in good order is no longer expected to move', async () => {
  const clock = manualClock()
  const health = createHealth(clock)
  const first = health.heartbeat('loop', '1s')
  const second = health.heartbeat('loop', '1s')
  first.stop() // the second of that name stays
  await clock.advance('2s')
  expect(health.live().get('loop')).toContain('no move')
  second.stop()
  expect(health.live().size).toBe(0)
})

test('ready when every check finds nothing, and a failing one tells what it found', async () => {
  const health = createHealth(manualClock())
  let synced = false
  health.check('caches', () => (synced ? undefined : '2 kinds are not listed yet'))
  health.check('webhook', () => undefined)
  expect(await ask(health, '/readyz')).toBe(
    '503 [-]caches failed: 2 kinds are not listed yet\n[+]webhook ok\nreadyz check failed\n',
  )
  synced = true
  expect(await ask(health, '/readyz')).toBe('200 ok\n')
  health.check('broken', () => {
    throw new Error('boom')
  })
  expect(await ask(health, '/readyz')).toContain('[-]broken failed: boom')
})

test('strange requests get an answer and do no harm', async () => {
  const health = createHealth(manualClock())
  expect(await ask(health, '/')).toBe('404 not found, there is: /healthz /readyz\n')
  expect(await ask(health, '//')).toContain('404')
  expect(await ask(health, '/toString')).toContain('404')
  expect(await ask(health, '/healthz', { method: 'POST' })).toBe('405 only GET and HEAD\n')
  expect(await ask(health, '/healthz', { method: 'HEAD' })).toBe('200 ')
})
