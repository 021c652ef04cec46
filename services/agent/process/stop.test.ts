import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '#operator/model/clock.ts'
import { identityOf, isAlive, type ProcessIdentity } from './process-table.ts'
import { killGroup, stopGroup } from './stop.ts'

interface Group {
  readonly leader: ProcessIdentity
  /** Of the group, one that answers. */
  readonly member: number
  readonly output: Readable
}

const groups: Group[] = []

afterEach(async () => {
  for (const { leader } of groups.splice(0)) await killGroup(leader, systemClock)
})

/** Says its number, and answers to SIGUSR1. */
const ANSWERS = 'trap "echo here" USR1; echo $$; while :; do sleep 0.05; done'

/** A process that leads a group of its own; as a child of it, one that answers. */
const group = async (args: readonly string[]): Promise<Group> => {
  const child = spawn('sh', ['-c', ...args], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(child, 'exit')
  const said = once(child.stdout, 'data')
  await once(child, 'spawn')
  const leader = await identityOf(child.pid ?? 0)
  const made = { leader, member: Number(String(await said)), output: child.stdout }
  groups.push(made)
  if (made.member !== leader.pid) await ended
  return made
}

const led = () => group([ANSWERS])
/** One whose leader has ended: what it started is left. */
const orphaned = () => group(['sh -c "$0" &', ANSWERS])

/** What was killed before says nothing more. */
const answers = async ({ member, output }: Group): Promise<boolean> => {
  if (output.closed) return false
  const answer = Promise.race([once(output, 'data').then(() => true), once(output, 'close').then(() => false)])
  try {
    process.kill(member, 'SIGUSR1')
  } catch {
    return false
  }
  return answer
}

// AGENT-8
test('a group goes with its leader', async () => {
  const { leader } = await led()
  await stopGroup(leader, 5_000, systemClock)
  expect(await isAlive(leader)).toBe(false)
})

test('what a leader that has ended left behind goes too', async () => {
  const left = await orphaned()
  await killGroup(left.leader, systemClock)
  expect(await answers(left)).toBe(false)
})

test('who has the number by now is left alone', async () => {
  const stranger = await led()
  const { pid, started } = stranger.leader
  await stopGroup({ pid, started: `${started}0` }, 5_000, systemClock)
  expect(await answers(stranger)).toBe(true)
})

test.runIf(process.platform === 'linux')('after a restart of the machine the number says nothing', async () => {
  const strangers = await orphaned()
  const { pid, started } = strangers.leader
  await stopGroup({ pid, started: `another-boot ${started.split(' ')[1]}` }, 5_000, systemClock)
  expect(await answers(strangers)).toBe(true)
})
