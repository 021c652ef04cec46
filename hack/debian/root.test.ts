import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { debianRootMissing } from './root.ts'

const PROGRAM = `
import { ensureDebianRoot } from ${JSON.stringify(join(import.meta.dirname, 'root.ts'))}
await ensureDebianRoot(['hello'], console.error)
`

/** What processes have this among their arguments. */
const running = (argument: string): readonly string[] =>
  globSync('/proc/[0-9]*/cmdline').filter((file) => {
    try {
      return readFileSync(file, 'utf8').split('\0').includes(argument)
    } catch {
      // It ended meanwhile.
      return false
    }
  })

test.for(['SIGINT', 'SIGKILL'] as const)(
  'debootstrap ends with the program that started it, by %s',
  async (signal, { skip }) => {
    const missing = debianRootMissing()
    if (missing !== undefined) skip(missing)
    const folder = await mkdtemp(join(tmpdir(), 'muster-debootstrap-'))
    const started = join(folder, 'started')
    // Stands for the one that takes a minute and that unshare keeps signals from.
    await writeFile(join(folder, 'debootstrap'), `#!/bin/sh\ntrap '' INT TERM\ntouch ${started}\nsleep 600\n`, {
      mode: 0o755,
    })
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, MUSTER_CACHE: join(folder, 'cache') }
    const program = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], { env, stdio: 'ignore' })
    await expect.poll(() => existsSync(started), { timeout: 30_000 }).toBe(true)
    const ours = () => running(join(folder, 'debootstrap'))
    expect(ours()).not.toEqual([])

    program.kill(signal)

    await once(program, 'exit')
    await expect.poll(ours, { timeout: 10_000 }).toEqual([])
    await rm(folder, { recursive: true })
  },
)
