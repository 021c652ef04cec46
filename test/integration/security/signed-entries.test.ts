/** Attacks on what devices run, by a store or a key of NATS that was stolen: docs/decisions/signed-entries.md. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect, nkeyAuthenticator } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { signEntry } from '#apis/fleet.nationtech.io/kv/signature.ts'
import { newSigningKey, publicKeysOf, readSigningKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { streamOf, subjectOf } from '#lib/nats/kv-subjects.ts'
import { startNats } from '#test/harness/index.ts'
import { type AgentUnderTest, entry, eventually, startAgent, untilState, type World, worldOn } from '../agent/world.ts'
import { muster } from '../cmd/run.ts'
import { leavingIn, putEntry } from './signed-world.ts'

vi.setConfig({ testTimeout: 180_000 })

const newKey = () => readSigningKeys(newSigningKey())

const DEVICES = ['pump', 'press', 'old', 'again', 'fresh'] as const
/** The operator's, which NATS never has, and one of the thief's own. */
const [ours, theirs] = [newKey(), newKey()]
let folder: string
let nats: Awaited<ReturnType<typeof startNats>>
/** With the operator's key of NATS: what it may write, its thief may. */
let here: World

beforeAll(async () => {
  folder = await temporaryFolder('signed')
  const devices = DEVICES.map((device) => `--device=${device}`)
  expect((await muster(['fleet', 'credentials', ...devices, `--output=${folder}`])).code).toBe(0)
  nats = await startNats(join(folder, 'nats-users.conf'))
  const seed = (await readFile(join(folder, 'operator.nk'), 'utf8')).trim()
  const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed))
  here = await worldOn(await connect({ servers: nats.url, authenticator }), nats.url)
  await writeFile(join(folder, 'public.pem'), publicKeysOf(ours))
})

afterAll(async () => {
  await here?.[Symbol.asyncDispose]()
  await nats?.stop()
})

/** @param verifies it has the public keys of the fleet */
const agentOf = (device: (typeof DEVICES)[number], verifies: boolean, stateDir?: string): Promise<AgentUnderTest> =>
  startAgent(device, nats.url, {
    ...(stateDir !== undefined && { stateDir }),
    args: [
      `--nats-credentials=${join(folder, 'devices', `${device}.nk`)}`,
      ...(verifies ? [`--fleet-public-keys=${join(folder, 'public.pem')}`] : []),
    ],
  })

const put = (key: string, bytes: Uint8Array, signature: string): Promise<void> =>
  putEntry(here.connection, key, bytes, signature)

const write = (key: string, bytes: Uint8Array): Promise<void> => put(key, bytes, signEntry(ours, key, bytes))

const leaving = (name: string) => leavingIn(folder, name)

// AGENT-48, AGENT-49
test('attack: the operator’s key of NATS puts programs on a device; one without the public keys of the fleet runs them', async () => {
  const [good, planted] = [leaving('good'), leaving('planted')]
  const key = 'pump.shop.web'
  await using agent = await agentOf('pump', true)
  const first = entry(good.score, 1)
  await write(key, first)
  await untilState(here, key, { phase: 'Running', revision: 1 })
  const running = await agent.programs()

  const next = entry(planted.score, 2)
  const attempts: readonly (readonly [string, string])[] = [
    ['', 'is not signed'],
    [signEntry(theirs, key, next), 'give it the present public keys of the fleet'],
    // Signatures that the operator made, of another entry and for another device.
    [signEntry(ours, key, first), 'a signature that is not of it'],
    [signEntry(ours, 'press.shop.web', next), 'a signature that is not of it'],
    [signEntry(ours, 'pump.shop.other', next), 'a signature that is not of it'],
    ['x'.repeat(3_000), 'a signature that is not of it'],
  ]
  for (const [signature, problem] of attempts) {
    await put(key, next, signature)
    const complaint = await eventually(async () => {
      const state = await untilState(here, key, { phase: 'Failed', revision: 2, unverified: true })
      expect(state.message).toContain(problem)
      return state
    })
    expect(complaint.message).toContain('revision 1 goes on')
    // The operator writes it again, and the complaint ends.
    await write(key, first)
    await untilState(here, key, { phase: 'Running', revision: 1 })
  }
  // A Deployment that the device never had.
  await put('pump.shop.planted', entry(planted.score, 1, 'uid-2'), '')
  await untilState(here, 'pump.shop.planted', { phase: 'Failed', uid: 'uid-2', unverified: true })
  expect(await agent.programs()).toEqual(running)
  expect([good.began(), planted.began()]).toEqual([true, false])

  // The same bytes, on a device that was enrolled before there were public keys.
  await using open = await agentOf('old', false)
  await put('old.shop.planted', entry(planted.score, 1, 'uid-2'), '')
  await untilState(here, 'old.shop.planted', { phase: 'Running' })
  expect(planted.began()).toBe(true)
  await open.process.line(({ msg }) => msg.includes('entries are taken without a signature'))
})

// AGENT-48
test('attack: the entry of a thief waits in the store while the agent is killed and begins anew; it is not run, and what ran goes on', async () => {
  const [good, planted] = [leaving('kept'), leaving('waiting')]
  const key = 'press.shop.web'
  const agent = await agentOf('press', true)
  await write(key, entry(good.score, 1))
  await untilState(here, key, { phase: 'Running', revision: 1 })
  const running = await agent.programs()
  await agent.kill()
  await put(key, entry(planted.score, 2), '')
  await put('press.shop.new', entry(planted.score, 1), '')
  await using again = await agentOf('press', true, agent.stateDir)
  await untilState(here, key, { phase: 'Failed', revision: 2, unverified: true })
  await untilState(here, 'press.shop.new', { phase: 'Failed', unverified: true })
  expect(await again.programs()).toEqual(running)
  expect(planted.began()).toBe(false)

  await write(key, entry(good.score, 3))
  await untilState(here, key, { phase: 'Running', revision: 3 })
  expect(await again.programs()).toEqual(running)
})

// AGENT-48
test('attack: the entry that the operator signed for one device is delivered to another, by its consumer; it is not run there', async () => {
  const secret = leaving('for-another')
  await using agent = await agentOf('fresh', true)
  const { consumers } = await jetstreamManager(here.connection)
  const stream = streamOf('fleet-desired')
  await eventually(() => consumers.info(stream, 'fresh'))
  await consumers.update(stream, 'fresh', { filter_subject: subjectOf('fleet-desired', 'nowhere.>') })
  await write('nowhere.shop.web', entry(secret.score))
  await agent.process.line(
    ({ msg, ...more }) => msg === 'an entry is skipped' && more.problem === 'it is for another device',
  )
  expect([await agent.programs(), secret.began()]).toEqual([[], false])
})

// AGENT-50
test('attack: an old entry that the operator signed is put back, over a later one, after a deletion, and after the agent was killed; it is not run', async () => {
  const [old, present] = [leaving('old'), leaving('present')]
  const key = 'old.shop.replayed'
  const agent = await agentOf('old', true)
  const [first, second] = [entry(old.score, 1), entry(present.score, 2)]
  await write(key, second)
  await untilState(here, key, { phase: 'Running', revision: 2 })
  await write(key, first)
  await agent.process.line(({ msg }) => msg.includes('an older revision is not taken'))
  await here.buckets.desired.delete(key)
  await agent.process.line(({ msg }) => msg.includes('a workload was removed'))
  await agent.kill()
  await write(key, first)
  await using again = await agentOf('old', true, agent.stateDir)
  const complaint = await untilState(here, key, { phase: 'Failed', revision: 2 })
  expect(complaint.message).toContain('revision 1 in fleet-desired is older than revision 2, which this device had')
  expect(old.began()).toBe(false)
  // The device is selected again: the operator writes what it had.
  await write(key, second)
  await untilState(here, key, { phase: 'Running', revision: 2 })
  expect(await again.programs(key)).toHaveLength(1)
})

// AGENT-48
test('a device whose public keys are exchanged takes what the next key signs, without a new start, and nothing of the former', async () => {
  const next = newKey()
  const publicKeys = join(folder, 'public.pem')
  const [first, second, late] = [leaving('first'), leaving('second'), leaving('late')]
  await using _agent = await agentOf('again', true)
  await write('again.shop.first', entry(first.score))
  await untilState(here, 'again.shop.first', { phase: 'Running' })
  await writeFile(publicKeys, publicKeysOf(next))
  try {
    const bytes = entry(second.score)
    await put('again.shop.second', bytes, signEntry([...ours, ...next], 'again.shop.second', bytes))
    await untilState(here, 'again.shop.second', { phase: 'Running' })
    await write('again.shop.late', entry(late.score))
    await untilState(here, 'again.shop.late', { phase: 'Failed', unverified: true })
    expect(late.began()).toBe(false)
  } finally {
    await writeFile(publicKeys, publicKeysOf(ours))
  }
})
