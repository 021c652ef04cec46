import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { accepts, freePort } from './ports.ts'

test('ports are given once, and none that the kernel hands out by itself', async () => {
  const ports = await Promise.all(Array.from({ length: 100 }, freePort))
  expect(new Set(ports).size).toBe(ports.length)
  expect(ports.filter((port) => port < 10_000 || port >= 32_768)).toEqual([])
})

test('a given port can be listened on', async () => {
  const port = await freePort()
  expect(await accepts(port)).toBe(false)
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  expect(await accepts(port)).toBe(true)
  server.close()
})
