import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { identify, isRunning } from './identity.ts'
import { runToEnd } from './run.ts'

const shell = (script: string) => ({ name: 'a script', command: '/bin/sh', args: ['-c', script] })

test('what a program printed, when it ended well', async () => {
  expect(await runToEnd(shell('echo out; echo err >&2'))).toBe('out\nerr\n')
})

test('a program that fails is told with its last words', async () => {
  await expect(runToEnd(shell('echo no such mirror; exit 3'))).rejects.toThrow(
    'a script failed (exit 3). It said:\nno such mirror',
  )
})

test('an abort ends a program that ignores signals, and what it has started', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'muster-run-')), 'pid')
  const abort = new AbortController()
  const running = runToEnd(shell(`trap '' INT TERM HUP; sleep 600 & echo $! > ${file}; wait; sleep 600`), abort.signal)
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8'), { timeout: 10_000 }).toMatch(/\d+\n/)
  const sleeper = await identify(Number(readFileSync(file, 'utf8')))
  if (sleeper === undefined) throw new Error('the process did not start')
  abort.abort(new Error('Ctrl-C'))
  await expect(running).rejects.toThrow('Ctrl-C')
  await expect.poll(() => isRunning(sleeper), { timeout: 10_000 }).toBe(false)
})

test('an abort before the start starts nothing', async () => {
  await expect(runToEnd(shell('exit 0'), AbortSignal.abort(new Error('Ctrl-C')))).rejects.toThrow('Ctrl-C')
})
