import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstream } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { systemClock } from '#operator/model/clock.ts'
import { recorder, startMuster, startNats } from '#test/harness/index.ts'
import { requestTo, serve } from './support.ts'

/** A NATS whose user `muster` may not subscribe to what JetStream tells about given-up messages, until it is granted. */
const natsWithUsers = async () => {
  const config = join(await temporaryFolder('nats-users'), 'nats.conf')
  const write = (deny: string) =>
    writeFile(
      config,
      `authorization { users: [
        { user: muster, password: right, permissions: { publish: ">", subscribe: { allow: ">", deny: ${deny} } } }
        { user: client, password: right }
      ] }`,
    )
  await write('["$JS.EVENT.ADVISORY.>"]')
  const nats = await startNats(config)
  onTestFinished(() => nats.stop())
  return {
    url: nats.url.replace('//', '//muster:right@'),
    clientUrl: nats.url,
    grant: async () => {
      await write('["nothing"]')
      nats.reload()
    },
  }
}

/** Has a client of NATS give up the next message of the group. */
const terminateNext = async (url: string) => {
  const connection = await connect({ servers: url, user: 'client', pass: 'right' })
  onTestFinished(() => connection.close())
  const consumer = await jetstream(connection).consumers.get('hyperfleet-events', 'dns')
  const message = await consumer.next({ expires: 30_000 })
  message?.term()
  await connection.flush()
}

// API-71, RUNTIME-70
test('a process whose user of NATS may not subscribe to advisories serves, and says in its log what to grant', async () => {
  const nats = await natsWithUsers()
  await using api = await startMuster([
    'api',
    '--bind-address=127.0.0.1:0',
    '--metrics-bind-address=0',
    '--health-probe-bind-address=0',
    `--data-dir=${await temporaryFolder('nats-users-data')}`,
    `--nats-url=${nats.url}`,
  ])
  const { url } = await api.line('the HyperFleet API is serving')
  await api.line(({ level, msg }) => level === 'warn' && /let the user subscribe to \$JS\.EVENT\.ADVISORY/.test(msg))
  const call = requestTo(`${String(url)}/api/hyperfleet/v1`)
  await call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
  const { body } = await call('POST', '/clusters', { name: 'one', spec: {} })
  await call('POST', '/events', { resourceType: 'clusters', resourceId: body.id, reason: 'New' })
  const claimed = await call('POST', '/events/consumers/dns/claims', { wait: '30s' })
  expect(claimed.body.items).toMatchObject([{ deliveries: 1 }])
})

// API-71
test('the refusal is logged once, and once the right is granted what clients give up is a dead letter', async () => {
  const nats = await natsWithUsers()
  const lines: string[] = []
  const api = await serve({ natsUrl: nats.url, log: recorder(lines) }, systemClock)
  const refusals = () => lines.filter((line) => line.includes('let the user subscribe'))
  await expect.poll(refusals).toHaveLength(1)
  await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
  const { id } = await api.cluster('one')
  await nats.grant()
  // Subscribed again within a look at the progress of consumers.
  await expect
    .poll(
      async () => {
        await api.call('POST', '/events', { resourceType: 'clusters', resourceId: id, reason: 'New' })
        await terminateNext(nats.clientUrl)
        return (await api.call('GET', '/events/consumers/dns/dead-letters')).body.items.length
      },
      { timeout: 40_000, interval: 500 },
    )
    .toBeGreaterThan(0)
  expect(refusals()).toHaveLength(1)
})
