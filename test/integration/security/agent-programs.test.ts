/**
 * What a program of a Deployment can reach on its device. Each attack is tried twice: under the account of the agent, as before,
 * where it succeeds, and under an account of its own, which is the default.
 */
import { execFileSync } from 'node:child_process'
import { chmod, copyFile, lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect, nkeyAuthenticator } from '@nats-io/transport-node'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { writeCredentials } from '#cmd/fleet/credentials.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { requireInCi } from '#hack/testing/ci.ts'
import { agentId } from '#services/agent/folder-lock.ts'
import { hasEnded, identify } from '#services/agent/process/process-table.ts'
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
  worldOn,
} from '../agent/world.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

const isRoot = process.platform === 'linux' && process.getuid?.() === 0
const MISSING = isRoot ? undefined : 'accounts are given by root on Linux alone'
beforeEach(({ skip }) => {
  requireInCi(MISSING)
  if (MISSING !== undefined) skip(MISSING)
})

/** A device whose programs have the account of the agent, and one whose programs have their own. */
const DEVICES = ['open', 'confined'] as const
type DeviceName = (typeof DEVICES)[number]

/** A value that only the agent has in its environment. */
const CANARY = 'canary-of-the-agent'
/** A value in the environment of a Deployment beside. */
const SECRET = 'secret-of-another-deployment'
/** The descriptor that what starts the agent has left open. */
const LEFT_OPEN = 200

let shared: string
let keys: string
let here: World
let nats: Awaited<ReturnType<typeof startNats>>
const agents = new Map<DeviceName, AgentUnderTest>()
const victims = new Map<DeviceName, number>()

const stateDirOf = (device: DeviceName) => join(shared, device)
const seedOf = (device: string) => join(keys, 'devices', `${device}.nk`)

const run = async (device: DeviceName) => {
  const agent = await startAgent(device, nats.url, {
    stateDir: stateDirOf(device),
    programUser: device === 'open' ? 'self' : 'placement',
    args: [`--nats-credentials=${seedOf(device)}`],
    env: { CANARY },
    through: ['bash', '-c', `exec ${LEFT_OPEN}<"$0"; exec "$@"`, join(keys, 'operator.nk')],
  })
  agents.set(device, agent)
  const key = `${device}.shop.victim`
  await here.buckets.desired.put(key, entry(program('echo mine >mine; exec sleep 1000', { env: { SECRET } })))
  await untilState(here, key, { phase: 'Running' })
  victims.set(device, (await agent.programs(key))[0] ?? 0)
}

beforeAll(async () => {
  if (!isRoot) return
  shared = await temporaryFolder('devices')
  // As /var/lib is.
  await chmod(shared, 0o711)
  keys = await temporaryFolder('keys')
  await writeCredentials([...DEVICES, 'lower'], keys)
  nats = await startNats(join(keys, 'nats-users.conf'))
  const authenticator = nkeyAuthenticator(await readFile(join(keys, 'operator.nk')).then(trimmed))
  here = await worldOn(await connect({ servers: nats.url, authenticator }), nats.url)
  await Promise.all(DEVICES.map(run))
})
const trimmed = (bytes: Buffer): Uint8Array => Buffer.from(bytes.toString().trim())

afterAll(async () => {
  for (const agent of agents.values()) await agent[Symbol.asyncDispose]()
  await here?.[Symbol.asyncDispose]()
  await nats?.stop()
})

const output = (device: DeviceName, key: string) =>
  readFile(join(stateDirOf(device), key, 'output.log'), 'utf8').catch(() => '')

let count = 0

/** Runs it on the device. @returns what it printed until it said that it was over */
const attempt = async (device: DeviceName, script: string, more: Partial<Score['data']> = {}): Promise<string> => {
  count += 1
  const key = `${device}.thief.try-${count}`
  await here.buckets.desired.put(key, entry(program(`${script}\necho over; exec sleep 1000`, more)))
  const printed = await eventually(async () => {
    const text = await output(device, key)
    if (!text.includes('over\n')) throw new Error(`it printed ${text}; ${JSON.stringify(await stateOf(here, key))}`)
    return text
  })
  await here.buckets.desired.delete(key)
  return printed
}

interface Attack {
  readonly name: string
  readonly script: (device: DeviceName) => string
  /** What it prints when it succeeds. */
  readonly loot: RegExp
}

const agentPid = (device: DeviceName) => agents.get(device)?.process.pid ?? 0
const victim = (device: DeviceName) => victims.get(device) ?? 0

const ATTACKS: readonly Attack[] = [
  { name: 'reads the key of the device', script: (on) => `cat ${seedOf(on)}`, loot: /^SU[A-Z2-7]{56}/m },
  {
    name: 'reads what other Deployments were told, which is in the state of the agent',
    script: (on) => `cat ${stateDirOf(on)}/*.shop.victim/desired.json`,
    loot: new RegExp(SECRET),
  },
  {
    name: 'writes into the state of the agent',
    script: (on) => `echo >${stateDirOf(on)}/taken && echo written`,
    loot: /^written$/m,
  },
  {
    name: 'reads the environment of the agent',
    script: (on) => `tr '\\0' '\\n' </proc/${agentPid(on)}/environ`,
    loot: new RegExp(CANARY),
  },
  { name: 'has the environment of the agent', script: () => 'env', loot: new RegExp(CANARY) },
  {
    name: 'reads the memory of the agent',
    script: (on) => `
      at=$(sed -n 's/^\\([0-9a-f]*\\)-.* r--p .*/\\1/p' /proc/${agentPid(on)}/maps | head -n 1)
      dd if=/proc/${agentPid(on)}/mem bs=1 skip=$((0x$at)) count=4 2>&1 | tr -dc A-Z`,
    loot: /^ELF/m,
  },
  {
    name: 'lists what the agent has open',
    script: (on) => `ls -l /proc/${agentPid(on)}/fd/`,
    loot: /socket:/,
  },
  { name: 'signals the agent', script: (on) => `kill -0 ${agentPid(on)} && echo reached`, loot: /^reached$/m },
  {
    name: 'signals a program of another Deployment',
    script: (on) => `kill -0 ${victim(on)} && echo reached`,
    loot: /^reached$/m,
  },
  {
    name: 'reads the environment of a program of another Deployment',
    script: (on) => `tr '\\0' '\\n' </proc/${victim(on)}/environ`,
    loot: new RegExp(SECRET),
  },
  {
    name: 'reads files of a program of another Deployment',
    script: (on) => `cat ${stateDirOf(on)}*/${on}.shop.victim/work/mine; cat /proc/${victim(on)}/cwd/mine`,
    loot: /^mine$/m,
  },
  {
    name: 'has what the process that started the agent left open',
    script: () => 'ls -l /proc/$$/fd/',
    loot: /operator\.nk/,
  },
  {
    name: 'has capabilities, groups, or the group of the agent',
    script: () => 'grep -E "^(Cap|Gid)" /proc/$$/status; id -G',
    loot: /^Cap\w+:\s.*[1-9a-f]|^Gid:.*\t0\b|(^| )0( |$)/m,
  },
]

// AGENT-42
test.for(ATTACKS)('attack: a program $name', async ({ script, loot }) => {
  expect(await attempt('open', script('open'))).toMatch(loot)
  expect(await attempt('confined', script('confined'))).not.toMatch(loot)
})

// AGENT-42
test('attack: a program has the loader of the programs before it do its work, with the rights of the agent', async () => {
  const traces = async (device: DeviceName): Promise<readonly number[]> => {
    const folder = join(shared, `loader-of-${device}`)
    await mkdir(folder)
    await chmod(folder, 0o1777)
    // The loader writes such a file in the name of each program that has the variable.
    await attempt(device, 'true', { env: { LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: join(folder, 'trace') } })
    const names = await readdir(folder)
    expect(names).not.toEqual([])
    return Promise.all(names.map(async (name) => (await lstat(join(folder, name))).uid))
  }
  expect(await traces('open')).toContain(0)
  expect(await traces('confined')).not.toContain(0)
})

// AGENT-42
test('attack: a program becomes root by a program that has the mode to do so', async () => {
  const setuid = join(shared, 'id')
  await copyFile('/usr/bin/id', setuid)
  await chmod(setuid, 0o4755)
  const root = /euid=0|uid=0/
  // An account alone does not keep it from that.
  expect(execFileSync('setpriv', ['--reuid=2100000001', '--clear-groups', setuid], { encoding: 'utf8' })).toMatch(root)
  expect(await attempt('confined', setuid)).not.toMatch(root)
})

/** Each starts a process that says its number and stays. */
const LEAVERS = {
  'has left its group and its environment': `setsid env -i sh -c 'trap "" TERM HUP; echo left $$; while :; do sleep 0.1; done' &`,
  'seems to have ended, for its first thread has': `setsid perl -Mthreads -e '$SIG{TERM} = "IGNORE"; $| = 1; print "left $$\n";
    threads->create(sub { sleep 1 while 1 })->detach; select(undef, undef, undef, 0.2); syscall(${process.arch === 'x64' ? 60 : 93}, 0)' &`,
}

// AGENT-45
test.for(Object.entries(LEAVERS))('attack: a program leaves a process behind that %s', async ([, leave]) => {
  const left = async (device: DeviceName): Promise<number> => {
    const printed = await attempt(device, `${leave} sleep 1`)
    const key = `${device}.thief.try-${count}`
    await eventually(async () => expect(await stateOf(here, key)).toBeUndefined())
    return Number(/^left (\d+)$/m.exec(printed)?.[1])
  }
  const before = await left('open')
  expect(await hasEnded(before)).toBe(false)
  process.kill(before, 'SIGKILL')
  expect(await hasEnded(await left('confined'))).toBe(true)
})

// AGENT-45
test('attack: a program passes for one of another Deployment, which would not begin before that has ended', async () => {
  const pretend = async (device: DeviceName): Promise<number> => {
    const [victimKey, key] = [`${device}.shop.patient`, `${device}.thief.patient`]
    await here.buckets.desired.put(victimKey, entry(program('exec sleep 1000')))
    await untilState(here, victimKey, { phase: 'Running' })
    const mark = `MUSTER_WORKLOAD=${agentId(stateDirOf(device))}/${victimKey}@`
    const script = `setsid env ${mark} sh -c 'trap "" TERM; echo here $$; while :; do sleep 0.1; done' & exec sleep 1000`
    await here.buckets.desired.put(key, entry(program(script)))
    const pid = await eventually(async () => {
      const [, found] = /^here (\d+)$/m.exec(await output(device, key)) ?? []
      if (found === undefined) throw new Error('it has not said its number')
      return Number(found)
    })
    await here.buckets.desired.put(victimKey, entry(program('exec sleep 1001', { stopTimeout: '300ms' }), 2))
    await untilState(here, victimKey, { phase: 'Running', revision: 2 })
    return pid
  }
  expect(await identify(await pretend('open'))).toBeUndefined()
  expect(await identify(await pretend('confined'))).toBeDefined()
})

// AGENT-46
test('attack: a program gives as its reason to hold on a link to the key, which the agent would tell', async () => {
  const key = 'confined.thief.holder'
  await here.buckets.desired.put(key, entry(program(`ln -s ${seedOf('confined')} ../hold; exec sleep 1000`)))
  await untilState(here, key, { phase: 'Running' })
  await here.buckets.desired.put(key, entry(program('exec sleep 1001'), 2))
  const { message } = await untilState(here, key, { hold: true })
  expect(message).toContain('revision 2 is held back: ')
  expect(message).not.toMatch(/SU[A-Z2-7]{56}/)
})

// AGENT-42
test('attack: a program has the agent enter a folder for it that it can’t enter itself', async () => {
  const key = 'confined.thief.folder'
  const score = program('cat ./*; exec sleep 1000', { workingDirectory: stateDirOf('confined') })
  await here.buckets.desired.put(key, entry(score))
  const { message } = await untilState(here, key, { phase: 'Failed' })
  expect(message).toContain("is not there, or its account can't enter it")
  expect(await attempt('open', 'cat ./*/desired.json', { workingDirectory: stateDirOf('open') })).toMatch(SECRET)
})

// AGENT-44
test('attack: a program reads a key that the agent was given with the mode of a public file; the agent does not start', async () => {
  const seed = join(shared, 'public.nk')
  await writeFile(seed, await readFile(seedOf('lower')), { mode: 0o644 })
  await using agent = await startAgent('lower', nats.url, {
    stateDir: join(shared, 'lower'),
    programUser: 'placement',
    args: [`--nats-credentials=${seed}`],
  })
  expect((await agent.process.exited).code).toBe(2)
  expect(agent.process.output()).toContain(`${seed} can be read by every account of this machine`)
})
