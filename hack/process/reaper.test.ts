import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { identify, isRunning } from './identity.ts'
import { sweepFoldersOfTheDead } from './owners.ts'

/** Starts a process and a folder as tests do, says what they are, and waits to be killed. */
const PROGRAM = `
import { startChild } from ${JSON.stringify(join(import.meta.dirname, 'child.ts'))}
import { temporaryFolder } from ${JSON.stringify(join(import.meta.dirname, 'folder.ts'))}
const folder = await temporaryFolder('reaper-test')
const child = await startChild({ command: 'sleep', args: ['600'], logFile: folder + '/log', guarded: true })
console.log(JSON.stringify({ pid: child.pid, folder }))
setInterval(() => undefined, 1000)
`

const startProgram = async () => {
  const program = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: program.stdout }), 'line')
  const { pid, folder } = JSON.parse(line) as { pid: number; folder: string }
  const sleeper = await identify(pid)
  if (sleeper === undefined) throw new Error('the process did not start')
  expect(existsSync(folder)).toBe(true)
  return { program, sleeper, folder }
}

/** Numbers of the reapers of a process. */
const reapersOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('reaper.sh'))
    .map(Number)

test.for(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)(
  'a program that ends by %s leaves no process and no folder',
  async (signal) => {
    const { program, sleeper, folder } = await startProgram()

    program.kill(signal)

    await expect.poll(() => isRunning(sleeper), { timeout: 10_000 }).toBe(false)
    await expect.poll(() => existsSync(folder), { timeout: 10_000 }).toBe(false)
  },
)

const ON_LINUX = process.platform === 'linux'

test.skipIf(!ON_LINUX)('a reaper that is killed is replaced by one that knows as much', async () => {
  const { program, sleeper, folder } = await startProgram()
  const [first = 0] = reapersOf(program.pid as number)
  process.kill(first, 'SIGKILL')
  await expect
    .poll(() => reapersOf(program.pid as number), { timeout: 10_000 })
    .satisfy(([next]: readonly number[]) => next !== undefined && next !== first)

  program.kill('SIGKILL')

  await expect.poll(() => isRunning(sleeper), { timeout: 10_000 }).toBe(false)
  await expect.poll(() => existsSync(folder), { timeout: 10_000 }).toBe(false)
})

test.skipIf(!ON_LINUX)('a folder of a program that was killed with its reaper is swept by a later one', async () => {
  const { program, sleeper, folder } = await startProgram()
  const living = await startProgram()
  // It has no time to replace it.
  program.kill('SIGSTOP')
  for (const reaper of reapersOf(program.pid as number)) process.kill(reaper, 'SIGKILL')
  program.kill('SIGKILL')
  await once(program, 'exit')
  expect(existsSync(folder)).toBe(true)

  expect(await sweepFoldersOfTheDead()).toContain(folder)

  expect(existsSync(folder)).toBe(false)
  expect(existsSync(living.folder)).toBe(true)
  living.program.kill('SIGKILL')
  process.kill(sleeper.pid, 'SIGKILL')
})
