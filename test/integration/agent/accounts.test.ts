/** Programs with accounts of their own, over the life of an agent. What they can't do: test/integration/security/agent-programs.test.ts. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, lchown, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { accountHost } from '#services/agent/process/account-host.ts'
import { NEEDED_CAPABILITIES } from '#services/agent/process/find-missing-rights.ts'
import { giveFolder } from '#services/agent/process/work-folder.ts'
import { startNats } from '#test/harness/index.ts'
import { entry, eventually, program, startAgent, stateOf, untilState, type World, world } from './world.ts'

beforeEach(({ skip }) => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) skip('accounts are given by root on Linux alone')
})

let here: World
let nats: Awaited<ReturnType<typeof startNats>>
/** All may pass through it, as through /var/lib. */
let shared: string

beforeAll(async () => {
  nats = await startNats()
  here = await world(nats.url)
  shared = await temporaryFolder('devices')
  await chmod(shared, 0o711)
})
afterAll(async () => {
  await here[Symbol.asyncDispose]()
  await nats.stop()
})

type Options = NonNullable<Parameters<typeof startAgent>[2]>
const start = (device: string, more: Options = {}) =>
  startAgent(device, nats.url, { stateDir: join(shared, device), programUser: 'placement', ...more })
const output = (device: string, key: string) => readFile(join(shared, device, key, 'output.log'), 'utf8')
const uidOf = async (pid: number | undefined) => (await lstat(`/proc/${pid}`)).uid
const homeOf = (device: string, key: string) => join(shared, `${device}-programs`, key)

const WAITS = 'exec sleep 1000'

// AGENT-43
test('each Deployment has an account; it keeps it, with the program, when the agent is killed, and when it comes back', async () => {
  const [one, other] = ['lasting.shop.one', 'lasting.shop.other']
  const first = await start('lasting')
  await here.buckets.desired.put(one, entry(program(WAITS)))
  await here.buckets.desired.put(other, entry(program(WAITS), 1, 'uid-2'))
  for (const key of [one, other]) await untilState(here, key, { phase: 'Running' })
  const [pid] = await first.programs(one)
  const uid = await uidOf(pid)
  expect(uid).toBeGreaterThanOrEqual(2_100_000_000)
  expect(await uidOf((await first.programs(other))[0])).not.toBe(uid)
  await first.kill()

  await using second = await start('lasting')
  await second.process.line('program taken over')
  await here.buckets.desired.put(one, entry(program(WAITS), 2))
  await untilState(here, one, { phase: 'Running', revision: 2 })
  expect(await second.programs(one)).toEqual([pid])

  await here.buckets.desired.delete(one)
  await eventually(async () => expect(await stateOf(here, one)).toBeUndefined())
  await here.buckets.desired.put(one, entry(program(WAITS), 1, 'uid-3', '2026-02-02T00:00:00Z'))
  await untilState(here, one, { phase: 'Running', uid: 'uid-3' })
  expect(await uidOf((await second.programs(one))[0])).toBe(uid)
})

// AGENT-42, AGENT-10
test('a program has its folder, its variables and its output, and holds changes back itself', async () => {
  await using _agent = await start('normal')
  const key = 'normal.shop.web'
  const script = `echo "$GREETING" from "$PWD" "$HOME" >/dev/stdout; env | sort; echo busy >../hold; ${WAITS}`
  await here.buckets.desired.put(key, entry(program(script, { env: { GREETING: 'a "b" $c\n`d`' } })))
  await untilState(here, key, { phase: 'Running' })
  const work = join(homeOf('normal', key), 'work')
  const said = await output('normal', key)
  expect(said).toContain(`a "b" $c\n\`d\` from ${work} ${work}\n`)
  expect(said.match(/^[A-Za-z_0-9]+(?==)/gm)).toEqual(['GREETING', 'HOME', 'MUSTER_WORKLOAD', 'PATH', 'PWD'])
  await here.buckets.desired.put(key, entry(program(WAITS), 2))
  await untilState(here, key, { revision: 1, hold: true, message: 'revision 2 is held back: busy' })
})

// AGENT-42
test('what can’t be started is said to be so', async () => {
  await using _agent = await start('wrong')
  const fails = async (name: string, command: string[], more: object, message: string) => {
    const key = `wrong.shop.${name}`
    await here.buckets.desired.put(key, entry({ type: 'Process', data: { command, ...more } }))
    const state = await untilState(here, key, { phase: 'Failed' })
    expect(state.message).toContain(message)
  }
  await fails('missing', ['no-such-program'], {}, "no-such-program can't be started: there is no such program")
  await fails('mode', ['/etc/passwd'], {}, "/etc/passwd can't be started: it is not executable")
  await fails('folder', ['true'], { workingDirectory: '/no/such' }, '/no/such, which is its workingDirectory, is not')
  await fails('variable', ['true'], { env: { 'a.b': 'c' } }, 'the variable "a.b" can\'t be handed to it')
})

// AGENT-44
test('what a program has written goes with it to its new account, and back', async () => {
  const key = 'moving.shop.web'
  const script = `mkdir -p data; echo "$(id -u)" >>data/log; cat data/log; echo over; ${WAITS}`
  await here.buckets.desired.put(key, entry(program(script)))
  const accounts: number[] = []
  for (const programUser of ['self', 'placement', 'self'] as const) {
    await using agent = await start('moving', { programUser, args: ['--stop-workloads'] })
    await agent.process.line('program started')
    await untilState(here, key, { phase: 'Running' })
    await eventually(async () => expect((await output('moving', key)).match(/over/g)).toHaveLength(accounts.length + 1))
    accounts.push(await uidOf((await agent.programs())[0]))
    await here.buckets.state.delete(key)
  }
  const [, uid] = accounts
  expect(accounts).toEqual([0, expect.any(Number), 0])
  expect((await output('moving', key)).split('over\n').at(-2)).toBe(`0\n${uid}\n0\n`)
})

// AGENT-44
test('the folder of a program goes with its Deployment, also when the program has made it hard to remove', async () => {
  await using _agent = await start('leaver')
  const key = 'leaver.shop.web'
  const script = `mkdir -p a/b; touch a/b/c .hidden; chmod 000 a/b; chmod 000 a; ln -s / all; ${WAITS}`
  await here.buckets.desired.put(key, entry(program(script)))
  await untilState(here, key, { phase: 'Running' })
  expect(await readdir(join(homeOf('leaver', key), 'work'))).not.toEqual([])
  await here.buckets.desired.delete(key)
  await eventually(async () => expect(await readdir(join(shared, 'leaver-programs'))).toEqual([]))
  await eventually(async () => expect(await stateOf(here, key)).toBeUndefined())
})

// AGENT-44
test('a folder of programs that their accounts can’t reach keeps the agent from starting, and it says which folder is in the way', async () => {
  const hidden = join(shared, 'hidden')
  await mkdir(join(hidden, 'deep'), { recursive: true })
  await chmod(hidden, 0o700)
  await using agent = await start('lost', { args: [`--program-dir=${join(hidden, 'deep', 'programs')}`] })
  expect((await agent.process.exited).code).toBe(2)
  expect(agent.process.output()).toContain(`can't pass through ${hidden} to ${join(hidden, 'deep', 'programs')}`)
  expect(agent.process.output()).toContain(`chmod o+x ${hidden}`)
})

const bounded = (capabilities: readonly string[]) => [
  'setpriv',
  `--bounding-set=${['-all', ...capabilities.map((name) => name.replace('CAP_', '+').toLowerCase())].join(',')}`,
]

// AGENT-44
test('an agent with the rights of its service and no others starts, changes and ends programs', async () => {
  await using agent = await start('bounded', { through: bounded(NEEDED_CAPABILITIES) })
  const key = 'bounded.shop.web'
  const script = `setsid env -i sleep 1000 & echo wrote >file; echo busy >../hold; ${WAITS}`
  await here.buckets.desired.put(key, entry(program(script)))
  await untilState(here, key, { phase: 'Running' })
  await here.buckets.desired.put(key, entry(program('exec sleep 1001'), 2))
  await untilState(here, key, { hold: true, message: 'revision 2 is held back: busy' })
  await writeFile(join(homeOf('bounded', key), 'hold'), 'still busy')
  await untilState(here, key, { hold: true, message: 'revision 2 is held back: still busy' })
  await here.buckets.desired.delete(key)
  await eventually(async () => expect(await readdir(join(shared, 'bounded-programs'))).toEqual([]))
  expect(agent.process.log().filter(({ level }) => level === 'error')).toEqual([])
})

// AGENT-44
test.for(NEEDED_CAPABILITIES)('an agent without %s starts no programs, and says so', async (missing) => {
  const device = `without-${missing.toLowerCase().replaceAll('_', '-')}`
  const rest = NEEDED_CAPABILITIES.filter((name) => name !== missing)
  await using _agent = await start(device, { through: bounded(rest) })
  const key = `${device}.shop.web`
  await here.buckets.desired.put(key, entry(program(WAITS)))
  const { message } = await untilState(here, key, { phase: 'Failed' })
  expect(message).toContain(`this agent runs without ${missing}: no programs are started`)
  expect(message).toContain('--program-user=self')
})

/** Of the account of a placement and of the one that it had before, or of the agent. */
const [GIVEN, BEFORE, AGENT] = [2_100_000_001, 2_100_000_002, 0]

// AGENT-44
test.for([
  ['the agent', AGENT],
  ['another account', BEFORE],
] as const)(
  'a folder that is given from %s goes whole with its Deployment, wherever the giving was broken off',
  async ([, from]) => {
    const folder = await temporaryFolder('programs')
    await chmod(folder, 0o711)
    const accounts = { of: () => Promise.resolve(GIVEN), known: () => GIVEN }
    const host = accountHost({ setpriv: '/usr/bin/setpriv', folder, accounts })
    const path = join(folder, 'key')
    // In the order in which they are given.
    const parts = ['hold', 'work/data/deep/file', 'work/data/deep', 'work/data', 'work', '.'].map((part) =>
      join(path, part),
    )
    for (let given = 0; given <= parts.length; given += 1) {
      await mkdir(join(path, 'work/data/deep'), { recursive: true, mode: 0o700 })
      for (const file of ['hold', 'work/data/deep/file']) await writeFile(join(path, file), '')
      for (const [at, part] of parts.entries()) await lchown(part, at < given ? GIVEN : from, at < given ? GIVEN : from)
      await host.deleteFolder('key')
      expect(await readdir(folder)).toEqual([])
    }
  },
)

// AGENT-42
test('attack: what is left of an account exchanges a folder for a link while it is given away; nothing elsewhere is given', async () => {
  const [folder, elsewhere] = [await temporaryFolder('given'), await temporaryFolder('elsewhere')]
  await chmod(folder, 0o711)
  const work = join(folder, 'work')
  await mkdir(work)
  // `data` is a folder with `file` in it, and a moment later a link to where the file of another account has that name.
  await symlink(elsewhere, join(work, 'link'))
  await mkdir(join(work, 'data'))
  for (const at of [join(elsewhere, 'file'), join(work, 'data/file')]) await writeFile(at, '')
  await giveFolder(work, 0, TAKEN)
  const asTaken = [`--reuid=${TAKEN}`, `--regid=${TAKEN}`, '--clear-groups']
  const thief = spawn('setpriv', [...asTaken, 'perl', '-e', EXCHANGE], {
    cwd: work,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await once(thief.stdout, 'data')
    for (let round = 0; round < 500; round += 1) {
      await giveFolder(work, TAKEN, GIVEN)
      expect((await lstat(join(elsewhere, 'file'))).uid).toBe(0)
      await giveFolder(work, GIVEN, TAKEN)
    }
  } finally {
    thief.kill('SIGKILL')
  }
}, 60_000)

const TAKEN = 2_100_000_777

/** renameat2(2) with RENAME_EXCHANGE, of `data` and `link`, as fast as it can. Perl is on every Debian. */
const EXCHANGE = `$| = 1; print "ready"; my ($a, $b) = ("data", "link"); syscall(${process.arch === 'arm64' ? 276 : 316}, -100, $a, -100, $b, 2) while 1`
