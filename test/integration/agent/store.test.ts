/** The store of fleet-desired loses something that the agent has already taken: no program stops that is still wanted. */
import { cp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { streamOf } from '#lib/nats/kv-subjects.ts'
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
} from './world.ts'

const KEY = 'keeper.shop.web'
vi.setConfig({ testTimeout: 240_000 })

const STAYS = 'a deletion is left alone: it is older than what runs'
const PROGRAM = program('exec sleep 1000')

let nats: Awaited<ReturnType<typeof startNats>>
let here: World

beforeEach(async () => {
  nats = await startNats()
  here = await world(nats.url)
  return async () => {
    await here.connection.close()
    await nats.stop()
  }
})

const start = async (stateDir?: string): Promise<AgentUnderTest> => {
  const agent = await startAgent('keeper', nats.url, stateDir === undefined ? {} : { stateDir })
  onTestFinished(() => agent[Symbol.asyncDispose]())
  return agent
}

const running = (revision: number) => untilState(here, KEY, { phase: 'Running', revision })

const gone = async (agent: AgentUnderTest) => {
  await eventually(async () => expect(await stateOf(here, KEY)).toBeUndefined())
  expect(await agent.programs()).toEqual([])
}

const storeFolder = () => join(dirname(nats.logFile), 'jetstream')

/** The server is killed, its folder exchanged by `work`, and started again. */
const whileStopped = async (work: () => Promise<void>): Promise<void> => {
  await nats.kill()
  await work()
  await nats.restart()
}

/** A copy of the store in which the last word of the key is a deletion. After it the program is wanted again, and runs. */
const backupOfDeletion = async (agent: AgentUnderTest): Promise<string> => {
  const backup = await temporaryFolder('backup')
  await here.buckets.desired.put(KEY, entry(PROGRAM))
  await running(1)
  await here.buckets.desired.delete(KEY)
  await gone(agent)
  await whileStopped(() => cp(storeFolder(), backup, { recursive: true }))
  await eventually(() => here.buckets.desired.put(KEY, entry(PROGRAM, 2)))
  await running(2)
  return backup
}

const restore = (backup: string) =>
  whileStopped(async () => {
    await rm(storeFolder(), { recursive: true })
    await cp(backup, storeFolder(), { recursive: true })
  })

// AGENT-26
test('store_went_back: the deletion that a restored backup holds stops nothing, and one that is written after it does', async () => {
  const agent = await start()
  const backup = await backupOfDeletion(agent)
  const before = await agent.programs()
  expect(before).toHaveLength(1)
  await restore(backup)
  await agent.process.line(STAYS)
  const message = expect.stringContaining('is older than what runs')
  await eventually(async () =>
    expect(await stateOf(here, KEY)).toMatchObject({ phase: 'Running', revision: 2, message }),
  )
  expect(await agent.programs()).toEqual(before)

  // The operator writes again what is wanted: nothing is restarted, and nothing is to be said any more.
  await here.buckets.desired.put(KEY, entry(PROGRAM, 2))
  await eventually(async () => expect((await stateOf(here, KEY))?.message).toBeUndefined())
  expect(await agent.programs()).toEqual(before)
  await here.buckets.desired.delete(KEY)
  await gone(agent)
})

// AGENT-26
test('an agent that was away meanwhile knows by its disk that the deletion is older; what was deleted in the restored store goes', async () => {
  const first = await start()
  const backup = await backupOfDeletion(first)
  const before = await first.programs()
  await first.kill()
  await restore(backup)
  const second = await start(first.stateDir)
  await second.process.line(STAYS)
  expect(await second.programs()).toEqual(before)
  await second.kill()

  // Its revision is as low as that of the entry that the backup lacks, or lower; it is later.
  await eventually(() => here.buckets.desired.delete(KEY))
  await gone(await start(first.stateDir))
})

// AGENT-5, AGENT-26, AGENT-28
test('a purge of the bucket, and a bucket that is made anew, stop nothing; a deletion in the new one does', async () => {
  const first = await start()
  for (const other of ['a', 'b', 'c']) await here.buckets.desired.put(`other.shop.${other}`, entry(PROGRAM))
  await here.buckets.desired.put(KEY, entry(PROGRAM))
  await running(1)
  const before = await first.programs()
  const { streams } = await jetstreamManager(here.connection)
  const stream = streamOf(BUCKETS.desired.name)
  await streams.purge(stream)
  await first.kill()
  const second = await start(first.stateDir)
  await second.process.line('a Deployment has no entry, and none was deleted: it stays')
  expect(await second.programs()).toEqual(before)

  await streams.delete(stream)
  await here.connection.close()
  here = await world(nats.url)
  await here.buckets.desired.put('keeper.shop.other', entry(program('exit 1')))
  // NATS tells an agent nothing of it but silence, for two heartbeats of 30 s.
  await vi.waitFor(async () => expect(await stateOf(here, 'keeper.shop.other')).toMatchObject({ phase: 'Failed' }), {
    timeout: 150_000,
    interval: 500,
  })
  expect(await second.programs(KEY)).toEqual(before)
  await second.kill()

  // Its revision is lower than that of the entry in the bucket before.
  await here.buckets.desired.delete(KEY)
  await gone(await start(first.stateDir))
})

// AGENT-27
test('a value that the server removed, as one that a wrong setting made expire, stops nothing', async () => {
  const agent = await start()
  await here.buckets.desired.put(KEY, entry(PROGRAM))
  await running(1)
  const before = await agent.programs()
  const { streams } = await jetstreamManager(here.connection)
  const second = 1_000_000_000
  await streams.update(streamOf(BUCKETS.desired.name), {
    allow_msg_ttl: true,
    max_age: second,
    duplicate_window: second,
    subject_delete_marker_ttl: 60 * second,
  })
  await agent.process.line('the server removed an entry, and none was deleted: it stays')
  expect(await agent.programs()).toEqual(before)
  expect(await stateOf(here, KEY)).toMatchObject({ phase: 'Running', revision: 1 })
})
