/** POOL-61: with real name servers and listeners, on loopback. */

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { probeApiName } from '#controllers/clusterpool/execute/probe-api-name.ts'
import { isBlocked } from '#lib/link-local/guarded-lookup.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { eventually, poolWorld } from './world.ts'

/** A name server that knows these names and addresses of IPv4, and none besides. RFC 1035. */
const nameServer = async (names: Readonly<Record<string, string>>) => {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, { port, address }) => {
    const labels: string[] = []
    let at = 12
    for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
      labels.push(query.toString('ascii', at + 1, at + 1 + length))
      at += 1 + length
    }
    const question = query.subarray(12, at + 5)
    const isIPv4 = query.readUInt16BE(at + 1) === 1
    const name = labels.join('.').toLowerCase()
    asked.push(name)
    const found = isIPv4 ? names[name] : undefined
    const header = Buffer.alloc(12)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(names[name] === undefined ? 0x8183 : 0x8180, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(found === undefined ? 0 : 1, 6)
    // A pointer to the question, an A record of the Internet for a minute, four bytes.
    const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...(found ?? '').split('.').map(Number)]
    socket.send(Buffer.concat([header, question, ...(found === undefined ? [] : [Buffer.from(record)])]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const stop = async () => {
    const closed = once(socket, 'close')
    socket.close()
    await closed
  }
  return { server: `127.0.0.1:${socket.address().port}`, asked, [Symbol.asyncDispose]: stop }
}

/** Something that answers at 127.0.0.1, and counts what it is sent. */
const cluster = async () => {
  const server = createServer()
  let [connections, bytes] = [0, 0]
  server.on('connection', (socket) => {
    connections += 1
    socket.on('data', (data) => {
      bytes += data.length
    })
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = async () => {
    const closed = once(server, 'close')
    server.close()
    await closed
  }
  const seen = () => ({ connections, bytes })
  return { port: (server.address() as AddressInfo).port, seen, [Symbol.asyncDispose]: stop }
}

test('a customization is leased only when its name resolves and nothing answers there; otherwise it says so', async () => {
  await using the = await poolWorld()
  await using taken = await cluster()
  await using dns = await nameServer({
    'api.taken.example.com': '127.0.0.1',
    'api.metadata.example.com': '169.254.169.254',
    // Nothing listens at this address of the loopback network.
    'api.free.example.com': '127.0.0.2',
  })
  const preflight = { servers: [dns.server], port: taken.port, isBarred: isBlocked }
  const manager = await the.start({ preflight })
  const names = ['taken', 'unknown', 'metadata', 'free']
  await the.customize(names)
  await the.pool('checked', { size: 4, inventory: names, preflight: true })

  await eventually(async () => {
    const found: Record<string, unknown> = {}
    for (const name of names) {
      const { status } = await the.get.customization(name)
      const condition = findCondition(status?.conditions, 'Preflight')
      found[name] = [condition?.reason, condition?.message, status?.clusterDeploymentRef !== undefined]
    }
    expect(found).toEqual({
      taken: [
        'Answers',
        'api.taken.example.com (127.0.0.1) answers already: another cluster has this name or address',
        false,
      ],
      unknown: ['NotResolved', 'api.unknown.example.com is not in DNS: add it, or correct the customization', false],
      metadata: ['AddressBarred', 'api.metadata.example.com leads to 169.254.169.254, where no cluster can be', false],
      free: ['Free', 'api.free.example.com resolves, and nothing answers there', true],
    })
    const { status } = await the.get.pool('checked')
    expect(status?.standby).toBe(1)
    expect(status?.inventory?.taken?.message).toMatch(
      /^cluster checked-\w+ could not be made: preflight: api\.taken\.example\.com .* answers already: .*; leased again after /,
    )
  })
  expect(manager.lines.some((line) => line.includes('CreateClusterFailed') && line.includes('preflight'))).toBe(true)
  // A write that lost against another one is tried again, with another look; nothing is sent in any of them.
  expect(new Set(dns.asked)).toEqual(new Set(names.map((name) => `api.${name}.example.com`)))
  expect(taken.seen().bytes).toBe(0)
  expect(taken.seen().connections).toBeGreaterThan(0)
})

test('a name that leads to the manager itself is not tried, by whatever address', async () => {
  await using taken = await cluster()
  const own = ['127.0.0.1', '127.8.9.10', '0.0.0.0']
  const names = Object.fromEntries(own.map((address, n) => [`api.own-${n}.example.com`, address]))
  await using dns = await nameServer(names)
  for (const [host, address] of Object.entries(names))
    expect(await probeApiName(host, { servers: [dns.server], port: taken.port })).toMatchObject({
      reason: 'AddressBarred',
      message: `${host} leads to ${address}, where no cluster can be`,
    })
  expect(taken.seen().connections).toBe(0)
})

test('without it no name is asked for', async () => {
  await using the = await poolWorld()
  await using dns = await nameServer({})
  await the.start({ preflight: { servers: [dns.server] } })
  await the.customize(['any'])
  await the.pool('unchecked', { inventory: ['any'] })
  await eventually(async () => expect((await the.get.pool('unchecked')).status).toMatchObject({ standby: 1 }))
  expect(dns.asked).toEqual([])
})
