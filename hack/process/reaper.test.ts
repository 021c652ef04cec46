import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { identify, isRunning } from './identity.ts'

/** Starts a process and a folder as tests do, says what they are, and waits to be killed. */
const PROGRAM = `
import { startChild } from ${JSON.stringify(join(import.meta.dirname, 'child.ts'))}
import { temporaryFolder } from ${JSON.stringify(join(import.meta.dirname, 'folder.ts'))}
const folder = await temporaryFolder('reaper-test')
const child = await startChild({ command: 'sleep', args: ['600'], logFile: folder + '/log', guarded: true })
console.log(JSON.stringify({ pid: child.pid, folder }))
setInterval(() => undefined, 1000)
`

test.for(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)(
  'a program that ends by %s leaves no process and no folder',
  async (signal) => {
    const program = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(createInterface({ input: program.stdout }), 'line')
    const { pid, folder } = JSON.parse(line) as { pid: number; folder: string }
    const sleeper = await identify(pid)
    if (sleeper === undefined) throw new Error('the process did not start')
    expect(existsSync(folder)).toBe(true)

    program.kill(signal)

    await expect.poll(() => isRunning(sleeper), { timeout: 10_000 }).toBe(false)
    await expect.poll(() => existsSync(folder), { timeout: 10_000 }).toBe(false)
  },
)
