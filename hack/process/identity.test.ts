import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { identify, isRunning } from './identity.ts'

test('a process is itself until it ends', async () => {
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  const identity = await identify(child.pid as number)
  if (identity === undefined) throw new Error('sleep has no identity')
  expect(await isRunning(identity)).toBe(true)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await isRunning(identity)).toBe(false)
})

test('a later process with the same number is another one', async () => {
  const own = await identify(process.pid)
  expect(await isRunning({ pid: process.pid, started: `${own?.started} earlier` })).toBe(false)
})
