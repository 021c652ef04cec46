/** Attacks by the author of an AdapterTask by the NATS server that its events come from: docs/security.md. */

import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startNats } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld, namespaceAndConfig, PATIENCE } from '../adapter/world.ts'

/** What an author has: it notes that it was reached, and keeps the connection. */
const sockets: Socket[] = []
const listener = createServer((socket) => sockets.push(socket))
let nats: Awaited<ReturnType<typeof startNats>>
let world: AdapterWorld

beforeAll(async () => {
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  nats = await startNats()
  world = await adapterWorld({ natsUrl: nats.url })
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await nats?.stop()
  for (const socket of sockets) socket.destroy()
  listener.close()
})

const problemOf = async (name: string) => {
  const { status } = await world.until(name, 'InvalidTask')
  return status?.conditions?.find(({ type }) => type === 'Ready')?.message
}

test('ADAPTER-103 attack: a task has the manager connect to a server of its author, of the cluster, or at a link-local address', async () => {
  const { port } = listener.address() as AddressInfo
  const declare = (name: string, url: string) =>
    world.declare(name, { ...namespaceAndConfig(), events: { transport: 'nats', url } })
  await declare('own-server', `nats://127.0.0.1:${port}`)
  await declare('own-server-by-name', `nats://localhost:${port}`)
  await declare('metadata', 'nats://169.254.169.254:80')
  await declare('listed', nats.url)
  const manager = await world.manager(undefined, { natsServers: [nats.url] })
  await world.until('listed', 'Working')
  expect(await problemOf('own-server')).toContain('--adapter-nats-servers')
  expect(await problemOf('own-server-by-name')).toContain('--adapter-nats-servers')
  expect(await problemOf('metadata')).toContain('link-local')
  // Leaving a task goes to its server, too.
  for (const name of ['own-server', 'own-server-by-name', 'metadata'])
    await world.plane.kubectl('delete', 'adaptertask', name, `--namespace=${world.namespace}`)
  const { id } = await world.create('by-nats')
  await world.pulse(id)
  await vi.waitFor(async () => expect(await world.reported(id, 'listed')).toContain('Applied True Applied'), PATIENCE)
  await manager.stop()
  expect(sockets).toHaveLength(0)
})
