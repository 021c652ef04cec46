/** POOL-61: with real name servers and listeners, on loopback. */

import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, isIPv4, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { probeApiName } from '#controllers/clusterpool/execute/probe-api-name.ts'
import { isBlocked } from '#lib/egress/guarded-lookup.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { eventually, poolWorld } from './world.ts'

/** A name server that knows these names and their addresses, and none besides. RFC 1035, RFC 3596. */
const nameServer = async (names: Readonly<Record<string, string | readonly string[]>>) => {
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
    const type = query.readUInt16BE(at + 1)
    const name = labels.join('.').toLowerCase()
    asked.push(name)
    const known = [names[name] ?? []].flat()
    const found = known.filter((one) => (isIPv4(one) ? A : AAAA) === type).map(bytesOf)
    const header = Buffer.alloc(12)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(known.length === 0 ? 0x8183 : 0x8180, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(found.length, 6)
    // A pointer to the question, a record of the Internet for a minute, its bytes.
    const records = found.map((bytes) => Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]))
    socket.send(Buffer.concat([header, question, ...records]), port, address)
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

/** Types of records. */
const [A, AAAA] = [1, 28]

/** @param address of IPv4, or of IPv6 as eight groups */
const bytesOf = (address: string): readonly number[] =>
  isIPv4(address)
    ? address.split('.').map(Number)
    : address.split(':').flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff])

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
  const own = ['127.0.0.1', '127.8.9.10', '0.0.0.0', '0:0:0:0:0:0:0:1', '0:0:0:0:0:ffff:7f00:1']
  const names = Object.fromEntries(own.map((address, n) => [`api.own-${n}.example.com`, address]))
  await using dns = await nameServer(names)
  for (const [host, address] of Object.entries(names))
    expect(await probeApiName(host, { servers: [dns.server], port: taken.port })).toMatchObject({
      reason: 'AddressBarred',
      message: `${host} leads to ${shortened[address] ?? address}, where no cluster can be`,
    })
  expect(taken.seen().connections).toBe(0)
})

/** As they are told. */
const shortened: Readonly<Record<string, string>> = {
  '0:0:0:0:0:0:0:1': '::1',
  '0:0:0:0:0:ffff:7f00:1': '::ffff:127.0.0.1',
}

test('of a name with several addresses each counts: one that answers, and one where no cluster can be', async () => {
  await using taken = await cluster()
  await using dns = await nameServer({
    'api.second.example.com': ['127.0.0.2', '127.0.0.1'],
    'api.mapped.example.com': '0:0:0:0:0:ffff:7f00:1',
    'api.barred.example.com': ['127.0.0.1', '169.254.169.254'],
  })
  const probe = (name: string) =>
    probeApiName(`api.${name}.example.com`, { servers: [dns.server], port: taken.port, isBarred: isBlocked })
  expect(await probe('barred')).toMatchObject({ reason: 'AddressBarred' })
  expect(taken.seen().connections).toBe(0)
  for (const name of ['second', 'mapped'])
    expect(await probe(name)).toMatchObject({ reason: 'Answers', message: expect.stringContaining('127.0.0.1') })
})

test('what is no name in DNS is asked for nowhere', async () => {
  await using dns = await nameServer({})
  for (const host of ['api.with space.example.com', 'api', '-api.example.com', `api.${'a'.repeat(250)}.example.com`])
    expect(await probeApiName(host, { servers: [dns.server] })).toMatchObject({ status: 'False', reason: 'NoName' })
  expect(dns.asked).toEqual([])
})

test('neither a name server that says nothing nor an address that takes no connection holds it up', async () => {
  await using silent = await silentNameServer()
  expect(await probeApiName('api.any.example.com', { servers: [silent.server] })).toMatchObject({
    reason: 'NotResolved',
  })
  const full = await listenerWithoutRoom()
  await using dns = await nameServer({ 'api.full.example.com': '127.0.0.1' })
  const settings = { servers: [dns.server], port: full.port, isBarred: isBlocked }
  expect(await probeApiName('api.full.example.com', settings)).toMatchObject({ status: 'True', reason: 'Free' })
})

const silentNameServer = async () => {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { server: `127.0.0.1:${socket.address().port}`, [Symbol.asyncDispose]: async () => void socket.close() }
}

/** A port whose process stands still, and whose queue is full: the kernel answers no further connection. */
const listenerWithoutRoom = async () => {
  const program =
    "const server = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port))"
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  const waiting: Socket[] = []
  // Also when the test ran out of time: nothing else ends a process that stands still.
  onTestFinished(async () => {
    for (const socket of waiting) socket.destroy()
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  const [line] = await once(child.stdout, 'data')
  const port = Number(line)
  child.kill('SIGSTOP')
  // Until one is not let in any more.
  for (let isFull = false; !isFull; ) {
    const socket = connect({ port, host: '127.0.0.1', timeout: 500 })
    socket.on('error', () => undefined)
    waiting.push(socket)
    isFull = await Promise.race([once(socket, 'connect').then(() => false), once(socket, 'timeout').then(() => true)])
  }
  return { port }
}

test('without it no name is asked for', async () => {
  await using the = await poolWorld()
  await using dns = await nameServer({})
  await the.start({ preflight: { servers: [dns.server] } })
  await the.customize(['any'])
  await the.pool('unchecked', { inventory: ['any'] })
  await eventually(async () => expect((await the.get.pool('unchecked')).status).toMatchObject({ standby: 1 }))
  expect(dns.asked).toEqual([])
})
