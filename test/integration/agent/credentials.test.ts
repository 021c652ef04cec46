import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { JetStreamApiError, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { connect, headers, type NatsConnection, nkeyAuthenticator, type PublishOptions } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { startNats as startServer } from '#hack/nats/nats.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { authenticatorIn } from '#lib/nats/security.ts'
import { lastRelease, lastReleaseMissing, startMuster, startNats } from '#test/harness/index.ts'
import { muster } from '../cmd/run.ts'
import { entry, eventually, program, startAgent, stateOf, untilState, type World, worldOn } from './world.ts'

let folder: string
let nats: Awaited<ReturnType<typeof startNats>>
let here: World

const credentials = (...devices: readonly string[]) =>
  muster(['fleet', 'credentials', ...devices.flatMap((device) => ['--device', device]), '--output', folder])

const signIn = async (file: string, inboxPrefix = '_INBOX'): Promise<NatsConnection> =>
  connect({
    servers: nats.url,
    inboxPrefix,
    authenticator: nkeyAuthenticator(new TextEncoder().encode((await readFile(join(folder, file), 'utf8')).trim())),
  })

beforeAll(async () => {
  folder = await temporaryFolder('credentials')
  expect((await credentials('ours', 'theirs')).code).toBe(0)
  nats = await startNats(join(folder, 'nats-users.conf'))
  here = await worldOn(await signIn('operator.nk'), nats.url)
  await here.buckets.desired.put('theirs.shop.web', entry(program('exec sleep 1000'), 1, 'uid-2'))
  await here.buckets.state.put('theirs.shop.web', 'as they said')
})
afterAll(async () => {
  await here[Symbol.asyncDispose]()
  await nats.stop()
})

describe('muster fleet credentials', () => {
  test('keeps keys that are there, and hides secrets from other users of the machine', async () => {
    const before = await readFile(join(folder, 'devices/ours.nk'), 'utf8')
    const { code, output } = await credentials('ours')
    expect(code).toBe(0)
    expect(output).toContain('ours.nk: kept, the key is there already')
    expect(await readFile(join(folder, 'devices/ours.nk'), 'utf8')).toBe(before)
    expect((await stat(join(folder, 'devices/ours.nk'))).mode & 0o777).toBe(0o600)
  })

  // NATS-10
  test('says how a server goes on whose users an earlier release wrote, and its streams are those of the account then', async () => {
    const other = await temporaryFolder('credentials')
    const args = ['fleet', 'credentials', '--device', 'ours', '--output', other]
    await muster(args)
    const [config, store] = [join(other, 'nats-users.conf'), await temporaryFolder('store')]
    const key = await readFile(join(other, 'operator.pub'), 'utf8')
    await writeFile(config, `authorization {\n  users: [{ nkey: ${key.trim()} }]\n}\n`)
    const binaries = await ensureBinaries(CONTROL_PLANE, console.error)
    const authenticator = authenticatorIn(await readFile(join(other, 'operator.nk'), 'utf8'))
    const desired = async (url: string, use: (kv: KV) => Promise<unknown>) => {
      const connection = await connect({ servers: url, ...(authenticator && { authenticator }) })
      await use((await worldOn(connection, url)).buckets.desired)
      await connection.close()
    }
    const former = await startServer(binaries, store, config)
    await desired(former.url, (kv) => kv.put('ours.shop.web', 'as before'))
    await former.stop()
    expect((await muster(args)).output).toContain('rename jetstream/$G of its store to jetstream/FLEET')
    await rename(join(store, 'jetstream/$G'), join(store, 'jetstream/FLEET'))
    const after = await startServer(binaries, store, config)
    await desired(after.url, async (kv) => expect((await kv.get('ours.shop.web'))?.string()).toBe('as before'))
    await after.stop()
    expect((await muster(args)).output).toContain('and reload that')
  })

  test('takes the names of many devices from a file, and says which line of it is none', async () => {
    const other = await temporaryFolder('credentials')
    const file = join(other, 'names.txt')
    const names = Array.from({ length: 50 }, (_, i) => `till-${i + 1}`)
    const make = () => muster(['fleet', 'credentials', '--device=extra', '--device-names', file, '--output', other])
    await writeFile(file, `# all of the south\n${names.join('\n')}\n\n`)
    expect((await make()).code).toBe(0)
    expect(await readdir(join(other, 'devices'))).toHaveLength(2 * (names.length + 1))
    expect(await readFile(join(other, 'nats-devices.yaml'), 'utf8')).toContain('  till-50: U')
    await writeFile(file, 'till-1\nTill 2\n')
    const { code, output } = await make()
    expect([code, output]).toEqual([2, expect.stringContaining(`line 2 of ${file}: "Till 2" can't be the name`)])
    expect((await muster(['fleet', 'credentials', '--output', other])).output).toContain('--device or --device-names')
  })

  test('refuses what can’t be the name of a device', async () => {
    const { code, output } = await credentials('ours.shop')
    expect(code).toBe(2)
    expect(output).toContain('--device: "ours.shop" can\'t be the name of a device')
  })
})

describe('a device with its own key', () => {
  test('does its work', async () => {
    const args = [`--nats-credentials=${join(folder, 'devices/ours.nk')}`]
    await using agent = await startAgent('ours', nats.url, { args })
    await here.buckets.desired.put('ours.shop.web', entry(program('exec sleep 1000')))
    await untilState(here, 'ours.shop.web', { phase: 'Running' })
    await eventually(async () => expect(await here.buckets.info.get('ours')).not.toBeNull())
    await eventually(async () => expect(await here.buckets.heartbeat.get('ours')).not.toBeNull())
    await here.buckets.desired.delete('ours.shop.web')
    await eventually(async () => expect(await stateOf(here, 'ours.shop.web')).toBeUndefined())
    expect(agent.process.log().filter(({ msg }) => msg === 'NATS refused a request of the agent')).toEqual([])
  })

  // NATS-9
  test.skipIf(lastReleaseMissing() !== undefined)('does its work with an agent of the last release', async () => {
    const args = [
      'agent',
      '--device=ours',
      `--nats-url=${nats.url}`,
      `--nats-credentials=${join(folder, 'devices/ours.nk')}`,
      `--state-dir=${await temporaryFolder('agent')}`,
      '--stop-workloads',
    ]
    await using _agent = await startMuster(args, {}, await lastRelease())
    for (const revision of [1, 2]) {
      await here.buckets.desired.put('ours.shop.former', entry(program('exec sleep 1000'), revision))
      await untilState(here, 'ours.shop.former', { phase: 'Running', revision })
    }
    await here.buckets.desired.delete('ours.shop.former')
    await eventually(async () => expect(await stateOf(here, 'ours.shop.former')).toBeUndefined())
  })

  // AGENT-5
  test('learns by a write that only a key without a value takes whether NATS has lost what it said', async () => {
    const connection = await signIn('devices/ours.nk', '_INBOX.ours')
    const ifMissing = headers()
    ifMissing.set('Nats-Expected-Last-Subject-Sequence', '0')
    const write = async () =>
      (
        await connection.request('$KV.fleet-state.ours.shop.lost', 'said', { timeout: 5_000, headers: ifMissing })
      ).json()
    expect(await write()).toMatchObject({ stream: 'KV_fleet-state', seq: expect.any(Number) })
    expect(await write()).toMatchObject({ error: { description: expect.stringContaining('wrong last sequence') } })
    await connection.close()
  })

  // AGENT-1
  test('can’t write what is another’s, nor what the operator writes', async () => {
    const connection = await signIn('devices/ours.nk', '_INBOX.ours')
    const subjects = [
      '$KV.fleet-state.theirs.shop.web',
      '$KV.fleet-info.theirs',
      '$KV.fleet-heartbeat.theirs',
      '$KV.fleet-desired.theirs.shop.web',
      '$KV.fleet-desired.ours.shop.web',
    ]
    for (const subject of subjects)
      await expect(connection.request(subject, 'forged', { timeout: 5_000 }), subject).rejects.toThrow(/ermission/)
    await connection.close()
    expect((await here.buckets.state.get('theirs.shop.web'))?.string()).toBe('as they said')
  })

  // AGENT-1
  test('can’t read what is another’s: not by watching, by asking, or by listening to answers', async () => {
    const connection = await signIn('devices/ours.nk', '_INBOX.ours')
    const watch = (filter: string) =>
      jetstream(connection, { watcherPrefix: '_INBOX.ours' }).consumers.getPushConsumer('KV_fleet-desired', {
        filter_subjects: filter,
      })
    // The server leads it to another subject, and refuses that one: the client knows nothing of it, and waits.
    await expect(watch('$KV.fleet-desired.theirs.>')).rejects.toThrow('timeout')
    await expect(watch('$KV.fleet-desired.>')).rejects.toThrow('timeout')
    // The subject says ours, the request says theirs: it is given ours.
    const config = { name: 'ours', filter_subject: '$KV.fleet-desired.theirs.>', deliver_subject: '_INBOX.ours.sly' }
    const answer = await connection.request(
      '$JS.API.CONSUMER.CREATE.KV_fleet-desired.ours.$KV.fleet-desired.ours.>',
      JSON.stringify({ stream_name: 'KV_fleet-desired', config: { ...config, ack_policy: 'none' } }),
    )
    expect(answer.json()).toMatchObject({ config: { filter_subject: '$KV.fleet-desired.ours.>' } })
    const reader = await new Kvm(connection).open('fleet-desired')
    await expect(reader.get('theirs.shop.web')).rejects.toThrow(/ermission/)
    const direct = connection.request('$JS.API.DIRECT.GET.KV_fleet-desired.$KV.fleet-desired.theirs.shop.web')
    await expect(direct).rejects.toThrow(/ermission/)
    for (const subject of ['$KV.fleet-desired.>', '$KV.fleet-state.theirs.>', '_INBOX.theirs.>', '_INBOX.>', '>']) {
      const subscription = connection.subscribe(subject)
      await expect(subscription.closed, subject).resolves.toMatchObject({ message: expect.stringMatching(/ermission/) })
    }
    await connection.close()
  })

  test('can’t make, purge, change or list streams', async () => {
    const connection = await signIn('devices/ours.nk', '_INBOX.ours')
    const manager = await jetstreamManager(connection, { checkAPI: false })
    const stream = 'KV_fleet-state'
    await expect(manager.streams.add({ name: 'mine', subjects: ['mine'] })).rejects.toThrow(/ermission/)
    await expect(manager.streams.purge(stream)).rejects.toThrow(/ermission/)
    await expect(manager.streams.delete(stream)).rejects.toThrow(/ermission/)
    await expect(manager.streams.info(stream)).rejects.toThrow(/ermission/)
    await expect(manager.streams.list().next()).rejects.toThrow(/ermission/)
    await connection.close()
  })

  test('can’t have JetStream do it instead: purge by what is delivered, or erase the others with a rollup', async () => {
    const connection = await signIn('devices/ours.nk', '_INBOX.ours')
    await here.buckets.desired.put('ours.shop.bait', entry(program('true')))
    const config = {
      name: 'ours',
      ack_policy: 'none',
      filter_subject: '$KV.fleet-desired.ours.>',
      deliver_subject: '$JS.API.STREAM.PURGE.KV_fleet-state',
    }
    await connection.request('$JS.API.CONSUMER.DELETE.KV_fleet-desired.ours')
    await connection.request(
      '$JS.API.CONSUMER.CREATE.KV_fleet-desired.ours.$KV.fleet-desired.ours.>',
      JSON.stringify({ stream_name: 'KV_fleet-desired', config }),
    )
    const rollup: PublishOptions = { headers: headers() }
    rollup.headers?.set('Nats-Rollup', 'all')
    const erased = jetstream(connection).publish('$KV.fleet-state.ours.shop.web', 'erase', rollup)
    await expect(erased).rejects.toBeInstanceOf(JetStreamApiError)
    await here.buckets.desired.put('ours.shop.bait', entry(program('true'), 2))
    await here.connection.flush()
    expect((await here.buckets.state.get('theirs.shop.web'))?.string()).toBe('as they said')
    await connection.close()
  })
})

describe('an agent', () => {
  // AGENT-19
  test('with a key that the server does not know ends with code 1 and says so', async () => {
    const other = await temporaryFolder('credentials')
    await muster(['fleet', 'credentials', '--device', 'ours', '--output', other])
    const args = [`--nats-credentials=${join(other, 'devices/ours.nk')}`]
    await using agent = await startAgent('ours', nats.url, { args })
    expect((await agent.process.exited).code).toBe(1)
    expect(agent.process.output()).toMatch(
      /^muster: NATS at nats:\/\/127.0.0.1:\d+ does not let the device ours in: check --nats-credentials$/,
    )
  })

  // AGENT-19
  test('with a file that holds no key, or none at all, ends with code 2', async () => {
    const args = ['agent', '--device=ours', `--nats-url=${nats.url}`]
    const wrong = await muster([...args, `--nats-credentials=${join(folder, 'nats-users.conf')}`])
    expect(wrong).toMatchObject({ code: 2, output: expect.stringContaining('holds no credentials of a NATS user') })
    const missing = await muster([...args, '--nats-credentials=/no/such.nk'])
    expect(missing).toEqual({ code: 2, output: 'muster: --nats-credentials: /no/such.nk does not exist' })
  })

  test('is let in once its key is made and the server reloads, and locked out without it', async () => {
    await credentials('late')
    nats.reload()
    const args = [`--nats-credentials=${join(folder, 'devices/late.nk')}`]
    await eventually(async () => (await signIn('devices/late.nk', '_INBOX.late')).close())
    await using agent = await startAgent('late', nats.url, { args })
    await here.buckets.desired.put('late.shop.web', entry(program('exec sleep 1000')))
    await untilState(here, 'late.shop.web', { phase: 'Running' })
    await rm(join(folder, 'devices/late.pub'))
    await credentials('ours')
    nats.reload()
    await agent.process.line('NATS is away: what runs goes on')
    await expect(signIn('devices/late.nk', '_INBOX.late')).rejects.toThrow(/uthorization/)
    expect(await agent.programs()).toHaveLength(1)
  })
})
