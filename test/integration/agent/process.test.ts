import { readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { heartbeatCodec, infoCodec, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { parseUidRange } from '#cmd/agent/values.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { streamOf } from '#lib/nats/kv-subjects.ts'
import { silent } from '#operator/model/log.ts'
import { runAgent } from '#services/agent/agent.ts'
import { identify } from '#services/agent/process/process-table.ts'
import { manualClock, startNats, tcpProxy } from '#test/harness/index.ts'
import {
  type AgentUnderTest,
  entry,
  eventually,
  manifests,
  program,
  startAgent,
  stateOf,
  untilSaid,
  untilState,
  type World,
  world,
} from './world.ts'

let here: World
let nats: Awaited<ReturnType<typeof startNats>>
/** For the tests that need no agent of their own. */
let agent: AgentUnderTest

beforeAll(async () => {
  nats = await startNats()
  here = await world(nats.url)
  agent = await startAgent('device', here.url, { args: ['--labels=site=north,tier=edge'] })
})
afterAll(async () => {
  await agent[Symbol.asyncDispose]()
  await here[Symbol.asyncDispose]()
  await nats.stop()
})

/** Writes its number, and waits for its end. */
const WAITS = 'echo started $$; exec sleep 1000'

const output = (stateDir: string, key: string): Promise<string> => readFile(join(stateDir, key, 'output.log'), 'utf8')

describe('what a device tells of itself', () => {
  // AGENT-17
  test('labels, machine and version, and a heartbeat', async () => {
    await eventually(async () => {
      const info = await here.buckets.info.get('device')
      const { payload } = infoCodec.decode(info?.value ?? new Uint8Array())
      expect(payload).toMatchObject({
        labels: { site: 'north', tier: 'edge' },
        inventory: { arch: process.arch, os: 'Linux' },
        agentVersion: '0.1.0',
      })
      const beat = await here.buckets.heartbeat.get('device')
      expect(heartbeatCodec.decode(beat?.value ?? new Uint8Array()).payload.boot).toMatch(/^[-0-9a-f]{36}$/)
    })
  })
})

describe('a program', () => {
  test('runs with its environment in its folder, and its output is kept', async () => {
    const score = program('echo "$GREETING from $PWD, $MUSTER_NATS_URL."; exec sleep 1000', {
      env: { GREETING: 'hello' },
      workingDirectory: '/usr',
    })
    await here.buckets.desired.put('device.runner.web', entry(score))
    expect(await untilState(here, 'device.runner.web', { phase: 'Running' })).toMatchObject({
      uid: 'uid-1',
      revision: 1,
    })
    expect(await output(agent.stateDir, 'device.runner.web')).toBe('hello from /usr, .\n')
  })

  // AGENT-8
  test('is replaced by a new revision, and stopped by SIGTERM first', async () => {
    const key = 'device.updater.web'
    await here.buckets.desired.put(
      key,
      entry(program('trap "echo asked; exit 0" TERM; echo one; while :; do sleep 0.1; done')),
    )
    await untilState(here, key, { phase: 'Running', revision: 1 })
    await here.buckets.desired.put(key, entry(program('echo two; exec sleep 1000'), 2))
    await untilState(here, key, { phase: 'Running', revision: 2 })
    expect((await output(agent.stateDir, key)).split('\n')).toEqual(expect.arrayContaining(['one', 'asked', 'two']))
    expect(await agent.programs(key)).toHaveLength(1)
  })

  // AGENT-8
  test('that does not stop when asked is killed after its stopTimeout', async () => {
    const key = 'device.stubborn.web'
    const score = program('trap "" TERM; echo deaf; while :; do sleep 0.1; done', { stopTimeout: '300ms' })
    await here.buckets.desired.put(key, entry(score))
    await untilState(here, key, { phase: 'Running' })
    await here.buckets.desired.delete(key)
    await eventually(async () => expect(await stateOf(here, key)).toBeUndefined())
    expect(await agent.programs(key)).toEqual([])
  })

  // AGENT-9
  test('that ends is started again after a growing wait, and says why', async () => {
    const key = 'device.crasher.web'
    await here.buckets.desired.put(key, entry(program('exit 3')))
    await untilSaid(here, key, {
      phase: 'Failed',
      message: 'it ended with exit code 3; failure 1, it starts again in 1s',
    })
    await untilSaid(here, key, {
      phase: 'Failed',
      message: 'it ended with exit code 3; failure 3, it starts again in 4s',
    })
  })

  test('that was killed is started again, without what it had started itself', async () => {
    const key = 'device.killed.web'
    await here.buckets.desired.put(key, entry(program('sleep 1000 & echo child $!; wait')))
    await untilState(here, key, { phase: 'Running' })
    const [pid] = await agent.programs(key)
    const child = Number(/child (\d+)/.exec(await output(agent.stateDir, key))?.[1])
    process.kill(pid ?? 0, 'SIGKILL')
    await untilSaid(here, key, {
      phase: 'Failed',
      message: 'it was ended by SIGKILL; failure 1, it starts again in 1s',
    })
    expect(await identify(child)).toBeUndefined()
    await untilState(here, key, { phase: 'Running' })
    expect(await agent.programs(key)).toHaveLength(1)
  })

  test('that is not there, or whose folder is not, is said to be so', async () => {
    await here.buckets.desired.put('device.lost.a', entry({ type: 'Process', data: { command: ['no-such-program'] } }))
    await here.buckets.desired.put('device.lost.b', entry(program('exit 0', { workingDirectory: '/no/such' })))
    const a = await untilState(here, 'device.lost.a', { phase: 'Failed' })
    expect(a.message).toContain(
      'no-such-program can’t be started: there is no such program on this device'.replace('’', "'"),
    )
    const b = await untilState(here, 'device.lost.b', { phase: 'Failed' })
    expect(b.message).toContain('there is no folder /no/such, which is its workingDirectory')
  })

  test('goes when its key does, and the one beside it stays', async () => {
    await here.buckets.desired.put('device.shared.a', entry(program(WAITS)))
    await here.buckets.desired.put('device.shared.b', entry(program(WAITS), 1, 'uid-2'))
    await untilState(here, 'device.shared.a', { phase: 'Running' })
    await untilState(here, 'device.shared.b', { phase: 'Running' })
    await here.buckets.desired.delete('device.shared.a')
    await eventually(async () => expect(await stateOf(here, 'device.shared.a')).toBeUndefined())
    expect(await agent.programs('device.shared.a')).toEqual([])
    expect(await agent.programs('device.shared.b')).toHaveLength(1)
    expect(await stateOf(here, 'device.shared.b')).toMatchObject({ phase: 'Running', uid: 'uid-2' })
  })

  // AGENT-10
  test('that the device holds on to is not changed, and says why, until its file is gone; it is removed all the same', async () => {
    const key = 'device.holder.web'
    const file = join(agent.stateDir, key, 'hold')
    await here.buckets.desired.put(key, entry(program(WAITS)))
    await untilState(here, key, { phase: 'Running' })
    const running = await agent.programs(key)
    await writeFile(file, 'a customer is served\n')
    await here.buckets.desired.put(key, entry(program('exec sleep 1001'), 2))
    const held = { phase: 'Running', hold: true } as const
    const message = 'revision 2 is held back: a customer is served'
    await untilState(here, key, { ...held, revision: 1, message })
    expect(await agent.programs(key)).toEqual(running)
    await rm(file)
    const state = await untilState(here, key, { phase: 'Running', revision: 2 })
    expect(state.hold).toBeUndefined()
    expect(await agent.programs(key)).not.toEqual(running)

    await writeFile(file, '')
    await here.buckets.desired.put(key, entry(program(WAITS), 3))
    await untilState(here, key, { ...held, revision: 2, message: 'revision 3 is held back: no reason is given' })
    await here.buckets.desired.delete(key)
    await eventually(async () => expect(await stateOf(here, key)).toBeUndefined())
    expect(await agent.programs(key)).toEqual([])
  })

  test('that was deleted comes back when it is wanted again', async () => {
    const key = 'device.returner.web'
    await here.buckets.desired.put(key, entry(program(WAITS)))
    await untilState(here, key, { phase: 'Running' })
    await here.buckets.desired.delete(key)
    await here.buckets.desired.put(key, entry(program(WAITS), 1, 'uid-2', '2026-02-02T00:00:00Z'))
    await untilState(here, key, { phase: 'Running', uid: 'uid-2' })
    expect(await agent.programs(key)).toHaveLength(1)
  })
})

describe('an entry that', () => {
  // AGENT-2
  test('has the same bytes, or the same workload under another number, restarts nothing', async () => {
    const key = 'device.equal.web'
    await here.buckets.desired.put(key, entry(program(WAITS)))
    await untilState(here, key, { phase: 'Running' })
    const before = await agent.programs(key)
    await here.buckets.desired.put(key, entry(program(WAITS)))
    await here.buckets.desired.put(key, entry(program(WAITS), 2))
    await untilState(here, key, { phase: 'Running', revision: 2 })
    expect(await agent.programs(key)).toEqual(before)
    expect(await output(agent.stateDir, key)).toBe(`started ${before[0]}\n`)
  })

  // AGENT-4
  test('can’t be read is reported, and the last good one goes on', async () => {
    const key = 'device.careful.web'
    await here.buckets.desired.put(key, entry(program(WAITS)))
    await untilState(here, key, { phase: 'Running' })
    const before = await agent.programs(key)
    await here.buckets.desired.put(key, '{"schema":1')
    expect(await untilState(here, key, { phase: 'Failed', revision: 1 })).toMatchObject({
      message: "the entry in fleet-desired can't be read: the value is no JSON in UTF-8; revision 1 goes on",
    })
    const future = { type: 'Virtual', data: { image: 'x' } } as unknown as Parameters<typeof entry>[0]
    await here.buckets.desired.put(key, entry(future, 2))
    expect((await untilState(here, key, { phase: 'Failed', revision: 2 })).message).toContain(
      'can\'t run workloads of the type "Virtual"',
    )
    expect(await agent.programs(key)).toEqual(before)
    await here.buckets.desired.put(key, entry(program(WAITS)))
    await untilState(here, key, { phase: 'Running', revision: 1 })
    expect(await agent.programs(key)).toEqual(before)
  })

  test('can’t be read and was never good is reported as well', async () => {
    await here.buckets.desired.put('device.puzzled.web', 'nonsense')
    await untilState(here, 'device.puzzled.web', { phase: 'Failed', uid: 'unknown' })
  })

  // AGENT-3
  test('is older, as in a store that was restored, changes nothing: the device answers with what it has', async () => {
    const key = 'device.fenced.web'
    await here.buckets.desired.put(key, entry(program(WAITS), 5))
    await untilState(here, key, { phase: 'Running', revision: 5 })
    const before = await agent.programs(key)
    await here.buckets.desired.put(key, entry(program('echo old; exec sleep 1000'), 3))
    await agent.process.line('an older revision is not taken')
    expect(await stateOf(here, key)).toMatchObject({ phase: 'Running', revision: 5 })
    expect(await agent.programs(key)).toEqual(before)
  })
})

describe('an agent that', () => {
  // AGENT-7
  test('was killed takes its programs over, and starts none twice', async () => {
    const key = 'phoenix.shop.web'
    const first = await startAgent('phoenix', here.url)
    await here.buckets.desired.put(key, entry(program(WAITS)))
    await untilState(here, key, { phase: 'Running' })
    const before = await first.programs()
    await first.kill()
    expect(await first.programs()).toEqual(before)

    await using second = await startAgent('phoenix', here.url, { stateDir: first.stateDir })
    await second.process.line('program taken over')
    await here.buckets.desired.put(key, entry(program(WAITS), 2))
    await untilState(here, key, { phase: 'Running', revision: 2 })
    expect(await second.programs()).toEqual(before)

    process.kill(before[0] ?? 0, 'SIGKILL')
    await untilSaid(here, key, { phase: 'Failed', message: 'it ended; failure 1, it starts again in 1s' })
    await untilState(here, key, { phase: 'Running' })
    expect(await second.programs()).toHaveLength(1)
  })

  // AGENT-7
  test('was killed before it could write down what it started finds it by its mark', async () => {
    const key = 'amnesiac.shop.web'
    const first = await startAgent('amnesiac', here.url)
    await here.buckets.desired.put(key, entry(program(WAITS)))
    await untilState(here, key, { phase: 'Running' })
    const [before] = await first.programs()
    await first.kill()
    await writeFile(join(first.stateDir, key, 'process.json'), '')
    await using second = await startAgent('amnesiac', here.url, { stateDir: first.stateDir })
    await second.process.line('program started')
    // What is started is another program until it has become the one that is wanted.
    await eventually(async () => expect(await second.programs()).toHaveLength(1))
    expect(await second.programs()).not.toContain(before)
  })

  test('was away while its programs changed catches up: what is not wanted any more ends', async () => {
    const first = await startAgent('sleeper', here.url)
    await here.buckets.desired.put('sleeper.shop.a', entry(program(WAITS)))
    await here.buckets.desired.put('sleeper.shop.b', entry(program(WAITS)))
    await untilState(here, 'sleeper.shop.a', { phase: 'Running' })
    await untilState(here, 'sleeper.shop.b', { phase: 'Running' })
    await first.kill()
    await here.buckets.desired.delete('sleeper.shop.a')
    await here.buckets.desired.put('sleeper.shop.b', entry(program('echo new; exec sleep 1000'), 2))
    await using second = await startAgent('sleeper', here.url, { stateDir: first.stateDir })
    await eventually(async () => expect(await stateOf(here, 'sleeper.shop.a')).toBeUndefined())
    await untilState(here, 'sleeper.shop.b', { phase: 'Running', revision: 2 })
    expect(await second.programs()).toHaveLength(1)
  })

  test('ends leaves its programs; with --stop-workloads it ends them', async () => {
    const leaving = await startAgent('leaver', here.url)
    const stopping = await startAgent('stopper', here.url, { args: ['--stop-workloads'] })
    for (const device of ['leaver', 'stopper']) {
      await here.buckets.desired.put(`${device}.shop.web`, entry(program(WAITS)))
      await untilState(here, `${device}.shop.web`, { phase: 'Running' })
    }
    expect((await leaving.process.stop()).code).toBe(0)
    expect((await stopping.process.stop()).code).toBe(0)
    expect(await leaving.programs()).toHaveLength(1)
    expect(await stopping.programs()).toEqual([])
    await leaving[Symbol.asyncDispose]()
  })

  // AGENT-11
  test('shares its folder with another one is told so', async () => {
    await using agent = await startAgent('twin', here.url)
    await agent.process.line('connected to NATS')
    await using other = await startAgent('twin', here.url, { stateDir: agent.stateDir })
    expect((await other.process.exited).code).toBe(1)
    expect(other.process.output()).toContain('muster: another agent uses')
  })
})

describe('without NATS', () => {
  // AGENT-6
  test('what runs goes on, also over a restart, programs that crash are started again, and all is told when NATS is back', async () => {
    await using proxy = await tcpProxy(here.url)
    const key = 'island.shop.web'
    const first = await startAgent('island', proxy.url)
    await here.buckets.desired.put(key, entry(program(WAITS)))
    await untilState(here, key, { phase: 'Running' })
    const [before = 0] = await first.programs()
    proxy.refuse()
    proxy.cut()
    await first.process.line('NATS is away: what runs goes on')
    expect(await first.programs()).toEqual([before])
    await first.kill()

    await using second = await startAgent('island', proxy.url, { stateDir: first.stateDir })
    await second.process.line('program taken over')
    process.kill(before, 'SIGKILL')
    await eventually(async () => {
      const [after] = await second.programs()
      if (after === undefined || after === before) throw new Error('not started again')
    })
    await here.buckets.state.delete(key)
    await here.buckets.desired.put(key, entry(program(WAITS), 2))
    proxy.accept()
    await untilState(here, key, { phase: 'Running', revision: 2 })
  })

  // AGENT-5
  test('a server that comes back empty gets everything told again, and nothing stops', async () => {
    await using own = await startNats()
    const before = await world(own.url)
    const key = 'survivor.shop.web'
    await using agent = await startAgent('survivor', own.url)
    await before.buckets.desired.put(key, entry(program(WAITS)))
    await untilState(before, key, { phase: 'Running' })
    const running = await agent.programs()
    await before.connection.close()
    await own.kill()
    await rm(join(dirname(own.logFile), 'jetstream'), { recursive: true })
    await own.restart()

    await using after = await world(own.url)
    await untilState(after, key, { phase: 'Running', revision: 1 })
    expect(
      infoCodec.decode((await after.buckets.info.get('survivor'))?.value ?? new Uint8Array()).payload.labels,
    ).toEqual({})
    await agent.process.line('a Deployment has no entry, and none was deleted: it stays')
    expect(await agent.programs()).toEqual(running)
    await after.buckets.desired.put(key, entry(program(WAITS), 2))
    await untilState(after, key, { phase: 'Running', revision: 2 })
    expect(await agent.programs()).toEqual(running)
  })

  /** An agent in this process, on a NATS and a clock of its own, that has told once that it can't do what it was given. */
  const witness = async (own: Awaited<ReturnType<typeof startNats>>) => {
    const key = 'witness.shop.web'
    const clock = manualClock()
    const stopping = new AbortController()
    const before = await world(own.url)
    const ended = runAgent(
      {
        device: 'witness',
        labels: {},
        version: '0.1.0',
        publicKeys: undefined,
        nats: { url: own.url, authenticator: undefined },
        stateDir: await temporaryFolder('agent'),
        cluster: undefined,
        inventory: {},
        programs: { user: 'self', folder: '/no/such', uids: parseUidRange('1000-2000'), secrets: [] },
        stopWorkloads: true,
        clock,
        log: silent,
      },
      stopping.signal,
    )
    const complains = { phase: 'Failed', message: expect.stringContaining('no Kubernetes cluster') }
    await before.buckets.desired.put(key, entry(manifests({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } })))
    await eventually(async () => expect(await stateOf(before, key)).toMatchObject(complains))
    await eventually(async () => expect(await before.buckets.heartbeat.get('witness')).not.toBeNull())
    const stop = async () => {
      stopping.abort()
      await ended
    }
    return { key, clock, before, complains, stop }
  }

  test.for([
    ['all buckets', Object.values(BUCKETS)],
    ['the bucket of states alone', [BUCKETS.state]],
    ['the bucket of infos alone', [BUCKETS.info]],
  ] as const)('%s, made anew while the server stayed, gets told again what was said', async ([, lost]) => {
    await using own = await startNats()
    const { key, clock, before, complains, stop } = await witness(own)
    const manager = await jetstreamManager(before.connection)
    for (const { name } of lost) await manager.streams.delete(streamOf(name))
    await before.connection.close()

    await using after = await world(own.url)
    await eventually(async () => {
      await clock.advance('30s')
      expect(await stateOf(after, key)).toMatchObject(complains)
      expect(await after.buckets.info.get('witness')).not.toBeNull()
    })
    await stop()
  })

  // AGENT-25
  test('a bucket of states that went back while the server stayed gets told again what was said', async () => {
    await using own = await startNats()
    const { key, clock, before, complains, stop } = await witness(own)
    // As a stream has it that was restored from a backup.
    const { uid } = (await stateOf(before, key)) ?? { uid: '' }
    const old = { phase: 'Pending', uid, revision: 1, at: new Date(0).toISOString(), message: 'of the backup' } as const
    await before.buckets.state.put(key, stateCodec.encode(old, 1))
    await eventually(async () => {
      await clock.advance('30s')
      expect(await stateOf(before, key)).toMatchObject(complains)
    })
    await stop()
    await before.connection.close()
  })
})
