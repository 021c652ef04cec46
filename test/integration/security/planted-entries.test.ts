/** What stays of entries that a thief of NATS's key wrote, on a device that takes what the operator signs. docs/decisions/signed-entries.md. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { signEntry } from '#apis/fleet.nationtech.io/kv/signature.ts'
import { newSigningKey, publicKeysOf, readSigningKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { MAX_REPORTED } from '#services/agent/refused-entries.ts'
import { startNats } from '#test/harness/index.ts'
import {
  type AgentUnderTest,
  entry,
  eventually,
  program,
  startAgent,
  stateOf,
  untilState,
  type World,
  world,
} from '../agent/world.ts'
import { leavingIn, putEntry } from './signed-world.ts'

vi.setConfig({ testTimeout: 180_000 })

const newKey = () => readSigningKeys(newSigningKey())

const ours = newKey()
const YEARS = 365 * 86_400_000
let folder: string
let nats: Awaited<ReturnType<typeof startNats>>
let here: World

beforeAll(async () => {
  folder = await temporaryFolder('planted')
  nats = await startNats()
  here = await world(nats.url)
  await writeFile(join(folder, 'public.pem'), publicKeysOf(ours))
})

afterAll(async () => {
  await here?.[Symbol.asyncDispose]()
  await nats?.stop()
})

type Options = { readonly publicKeys?: string; readonly stateDir?: string; readonly skew?: number }

/** @param publicKeys a file; empty for a device without */
const agentOf = (device: string, options: Options = {}): Promise<AgentUnderTest> => {
  const { publicKeys = join(folder, 'public.pem'), ...more } = options
  return startAgent(device, nats.url, {
    ...more,
    args: publicKeys === '' ? [] : [`--fleet-public-keys=${publicKeys}`],
  })
}

const put = (key: string, bytes: Uint8Array, signature: string): Promise<void> =>
  putEntry(here.connection, key, bytes, signature)

const write = (key: string, bytes: Uint8Array): Promise<void> => put(key, bytes, signEntry(ours, key, bytes))

const leaving = (name: string) => leavingIn(folder, name)

const gone = async (agent: AgentUnderTest, key: string) => {
  await eventually(async () => expect(await agent.programs(key)).toEqual([]))
  await eventually(async () => expect(await stateOf(here, key)).toBeUndefined())
}

/** Where the agent was told of an entry of a time to come, by a server that says any time. */
const forgePosition = async ({ stateDir }: AgentUnderTest, key: string): Promise<() => Promise<{ at: number }>> => {
  const file = join(stateDir, key, 'position.json')
  const read = async () => JSON.parse(await readFile(file, 'utf8')) as { revision: number; at: number }
  await writeFile(file, JSON.stringify({ ...(await read()), at: Date.now() + 74 * YEARS }))
  return read
}

// AGENT-26
test('attack: the server says of the entry that runs that it is of 74 years to come; a deletion stops the program all the same', async () => {
  const key = 'pump.shop.web'
  const first = await agentOf('pump')
  await write(key, entry(program('exec sleep 1000')))
  await untilState(here, key, { phase: 'Running' })
  await first.kill()
  const position = await forgePosition(first, key)

  // The server is the operator's again.
  const second = await agentOf('pump', { stateDir: first.stateDir })
  await eventually(async () => expect((await position()).at).toBeLessThan(Date.now() + YEARS))
  await second.kill()
  await forgePosition(first, key)
  await here.buckets.desired.delete(key)
  await using third = await agentOf('pump', { stateDir: first.stateDir })
  await gone(third, key)
})

// AGENT-26
test('attack: the same, on a device whose clock is behind by 20 years; the next revision ends it', async () => {
  const key = 'press.shop.web'
  const late = { skew: -20 * YEARS }
  const first = await agentOf('press', late)
  await write(key, entry(program('exec sleep 1000')))
  await untilState(here, key, { phase: 'Running' })
  await first.kill()
  await forgePosition(first, key)
  await write(key, entry(program('exec sleep 1001'), 2))
  await using second = await agentOf('press', { stateDir: first.stateDir, ...late })
  await untilState(here, key, { phase: 'Running', revision: 2 })
  await here.buckets.desired.delete(key)
  await gone(second, key)
})

// AGENT-51
test('attack: an entry that was planted before the device had public keys says that it is later than all; what is signed takes its place', async () => {
  const [planted, good] = [leaving('planted'), leaving('good')]
  const key = 'lathe.shop.web'
  const before = await agentOf('lathe', { publicKeys: '' })
  await put(key, entry(planted.score, 9, 'thief', '9999-01-01T00:00:00Z'), '')
  await untilState(here, key, { phase: 'Running', uid: 'thief' })
  await before.kill()

  await using agent = await agentOf('lathe', { stateDir: before.stateDir })
  await agent.process.line('connected to NATS')
  await write(key, entry(good.score))
  await untilState(here, key, { phase: 'Running', uid: 'uid-1' })
  expect(good.began()).toBe(true)
  expect(await agent.programs(key)).toHaveLength(1)
})

// AGENT-50, AGENT-51
test('attack: such an entry is deleted, and what is signed runs after it', async () => {
  const good = leaving('after')
  const key = 'saw.shop.web'
  const before = await agentOf('saw', { publicKeys: '' })
  await put(key, entry(program('exec sleep 1000'), 9, 'thief', '9999-01-01T00:00:00Z'), '')
  await untilState(here, key, { phase: 'Running', uid: 'thief' })
  await before.kill()

  await using agent = await agentOf('saw', { stateDir: before.stateDir })
  await here.buckets.desired.delete(key)
  await gone(agent, key)
  await write(key, entry(good.score))
  await untilState(here, key, { phase: 'Running', uid: 'uid-1' })
})

// AGENT-3, AGENT-51
test('attack: a device that knew the operator’s entry by its signature before it had public keys takes no older one afterwards, nor after a new start', async () => {
  const [old, present] = [leaving('older'), leaving('present')]
  const key = 'oven.shop.web'
  const first = await agentOf('oven', { publicKeys: '' })
  await write(key, entry(present.score, 2))
  await untilState(here, key, { phase: 'Running', revision: 2 })
  await first.kill()
  await write(key, entry(old.score, 1))
  const second = await agentOf('oven', { stateDir: first.stateDir })
  await second.process.line('an older revision is not taken')
  await second.kill()
  await using third = await agentOf('oven', { stateDir: first.stateDir })
  await third.process.line('an older revision is not taken')
  expect(old.began()).toBe(false)
})

// AGENT-48
test('attack: a stolen key signs an entry that the device holds back; the key is taken out of the file before the hold ends, and it is not run', async () => {
  const stolen = newKey()
  const [good, held] = [leaving('held-good'), leaving('held')]
  const key = 'kiln.shop.web'
  const publicKeys = join(folder, 'kiln.pem')
  await writeFile(publicKeys, publicKeysOf([...ours, ...stolen]))
  await using agent = await agentOf('kiln', { publicKeys })
  await write(key, entry(good.score))
  await untilState(here, key, { phase: 'Running' })
  const hold = join(agent.stateDir, key, 'hold')
  await writeFile(hold, 'not now')
  const next = entry(held.score, 2)
  await put(key, next, signEntry(stolen, key, next))
  await untilState(here, key, { hold: true })
  await writeFile(publicKeys, publicKeysOf(ours))
  await rm(hold)
  const complaint = await untilState(here, key, { phase: 'Failed', revision: 2, unverified: true })
  expect(complaint.message).toContain('give it the present public keys of the fleet')
  expect(held.began()).toBe(false)
})

// AGENT-52
test('attack: any number of planted keys; a hundred of them are reported, the others counted, and what is signed runs', async () => {
  const keys = Array.from({ length: MAX_REPORTED + 50 }, (_, index) => `mill.shop.planted-${index}`)
  for (const key of keys) await put(key, entry(program('exec sleep 1000')), '')
  const first = keys[0] as string
  const last = keys.at(-1) as string
  await using agent = await agentOf('mill')
  await agent.process.line(
    ({ msg, ...more }) =>
      msg === 'more entries are not taken than are reported' &&
      more.reported === MAX_REPORTED &&
      more.unreported === 50,
  )
  const complaints = async () => {
    const states = await Promise.all(keys.map((key) => stateOf(here, key)))
    return states.filter((state) => state?.unverified === true).length
  }
  await eventually(async () => expect(await complaints()).toBe(MAX_REPORTED))
  await untilState(here, first, { phase: 'Failed', uid: 'uid-1', unverified: true })

  // One that is reported, and one that is not, become the operator's: two places are free, for what is planted next.
  await write(last, entry(program('exec sleep 1000')))
  await untilState(here, last, { phase: 'Running' })
  await write(first, entry(program('exec sleep 1000')))
  await untilState(here, first, { phase: 'Running' })
  await here.buckets.desired.delete(keys[1] as string)
  await eventually(async () => expect(await stateOf(here, keys[1] as string)).toBeUndefined())
  for (const key of keys.slice(-4, -1)) await put(key, entry(program('exec sleep 1001'), 2), '')
  await eventually(async () => expect(await complaints()).toBe(MAX_REPORTED))
  expect(await stateOf(here, keys.at(-2) as string)).toBeUndefined()
  expect(await agent.programs()).toHaveLength(2)
})
