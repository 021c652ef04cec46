/** The clock of a machine is set while NATS is away. */
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { afterEach, expect, test, vi } from 'vitest'
import { reconnectAfter } from '#lib/nats/reconnect.ts'
import { systemClock } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { connectAgent } from '#services/agent/nats/connect.ts'
import { startNats, tcpProxy } from '#test/harness/index.ts'

const DAY_MS = 24 * 3_600_000

afterEach(() => {
  vi.restoreAllMocks()
})

/** As the agent connects, and as every other client that comes back by itself, such as the HyperFleet API. */
const clients: Readonly<Record<string, (url: string) => Promise<NatsConnection>>> = {
  'an agent': (url) =>
    connectAgent(
      { url, device: 'gate-1', authenticator: undefined, clock: systemClock, log: silent },
      new AbortController().signal,
    ),
  'another client': (url) => connect({ servers: url, maxReconnectAttempts: -1, ...reconnectAfter(200) }),
}

const skews = { 'back by a day': -DAY_MS, 'ahead by a day': DAY_MS }

// AGENT-41, API-37
test.each(
  Object.keys(clients).flatMap((client) => Object.entries(skews).map(([how, skew]) => ({ client, how, skew }))),
)('$client is back after its clock was set $how', async ({ client, skew }) => {
  await using nats = await startNats()
  await using proxy = await tcpProxy(nats.url)
  const connection = await clients[client]?.(proxy.url)
  if (connection === undefined) throw new Error(`There is no ${client}`)
  try {
    const now = Date.now.bind(Date)
    vi.spyOn(Date, 'now').mockImplementation(() => now() + skew)
    proxy.refuse()
    proxy.cut()
    await vi.waitFor(() => expect(proxy.connections()).toBe(0), { timeout: 20_000 })
    proxy.accept()
    await vi.waitFor(() => expect(proxy.connections()).toBe(1), { timeout: 20_000 })
    await connection.flush()
  } finally {
    vi.restoreAllMocks()
    await connection.close()
  }
})
