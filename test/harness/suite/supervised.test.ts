import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { supervise } from './supervised.ts'

/** Writes a line at each start, and waits: for nothing, or for a moment and then ends. */
const program = async (script: string) => {
  const folder = await temporaryFolder('supervised')
  const file = join(folder, 'starts')
  await appendFile(file, '')
  const starts = async () => (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
  const args = ['-c', `echo "$0" >> "${file}"; ${script}`, 'as ever']
  return { starts, options: { command: 'sh', args, logFile: join(folder, 'log'), guarded: true } }
}

test('a process that is killed begins again with the same arguments, until it is stopped for good', async () => {
  const { starts, options } = await program('sleep 600')
  await using process = await supervise(options, async () => (await starts()).length > 0)
  await process.ready()
  await process.kill()
  await vi.waitUntil(async () => (await starts()).length === 2, { timeout: 10_000 })
  await process.restart()
  await vi.waitUntil(async () => (await starts()).length === 3, { timeout: 10_000 })
  await process.stop()
  expect(await starts()).toEqual(['as ever', 'as ever', 'as ever'])
  expect(process.ends().map(({ how, killed }) => ({ how, killed }))).toEqual([
    { how: 'SIGKILL', killed: true },
    { how: 'SIGTERM', killed: true },
    { how: 'SIGTERM', killed: true },
  ])
})

test('one that ends by itself is told apart, and so is one that ends before it works', async () => {
  const { starts, options } = await program('exit 3')
  await using process = await supervise(options, async () => false)
  await vi.waitUntil(() => process.ends().length === 2, { timeout: 10_000 })
  expect((await starts()).length).toBeGreaterThanOrEqual(2)
  expect(process.ends()[0]).toMatchObject({ how: 'exit 3', killed: false, worked: false })
})
