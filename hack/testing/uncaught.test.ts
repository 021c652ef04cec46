import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'
import { checkUncaught, uncaughtOptions } from './uncaught.ts'

const run = async (code: string): Promise<string> => {
  const folder = await temporaryFolder('uncaught with a space')
  onTestFinished(() => rm(folder, { recursive: true }))
  const env = { ...process.env, NODE_OPTIONS: uncaughtOptions(folder) }
  await promisify(execFile)(process.execPath, ['--eval', code], { env }).catch(() => undefined)
  return folder
}

test.for([
  ['a rejection', 'Promise.reject(new Error("left alone"))'],
  ['an exception', 'setTimeout(() => { throw new Error("left alone") })'],
] as const)(
  'a process that ends by %s that no code handles fails the run, with the words of the error',
  async ([, code]) => {
    await expect(checkUncaught(await run(code))).rejects.toThrow(/no code handled[\s\S]*Error: left alone/)
  },
)

test.for([
  ['a handled one', 'Promise.reject(new Error("looked after")).catch(() => undefined)'],
  ['an exit code', 'process.exitCode = 3'],
] as const)('%s does not', async ([, code]) => {
  await expect(checkUncaught(await run(code))).resolves.toBeUndefined()
})
