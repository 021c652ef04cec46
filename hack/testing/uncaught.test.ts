import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'
import { checkUncaught, uncaughtOptions } from './uncaught.ts'

const run = async (code: string): Promise<string> => {
  const folder = await temporaryFolder('uncaught with a space')
  onTestFinished(() => rm(folder, { recursive: true }))
  const env = { ...process.env, NODE_OPTIONS: uncaughtOptions(folder) }
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], { env }).catch(() => undefined)
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

/** As every process of Muster does it. */
const GOES_ON = `
  const { logUnhandledRejections } = await import(${JSON.stringify(join(import.meta.dirname, '../../lib/process/unhandled-rejections.ts'))})
  logUnhandledRejections({ error: () => undefined })
  Promise.reject(new Error('left alone'))
  await new Promise((resolve) => setTimeout(resolve))`

test.for([
  ['ends well', ''],
  ['is killed', 'process.kill(process.pid, "SIGKILL")'],
] as const)(
  'a process that logs a rejection that nothing handled and goes on until it %s fails the run',
  async ([, end]) => {
    await expect(checkUncaught(await run(`${GOES_ON}\n${end}`))).rejects.toThrow(
      /no code handled[\s\S]*Error: left alone/,
    )
  },
)

test('a process that logs rejections and has none does not', async () => {
  await expect(checkUncaught(await run(GOES_ON.replace(/Promise.reject.*/, '')))).resolves.toBeUndefined()
})

test.for([
  ['a handled one', 'Promise.reject(new Error("looked after")).catch(() => undefined)'],
  ['an exit code', 'process.exitCode = 3'],
] as const)('%s does not', async ([, code]) => {
  await expect(checkUncaught(await run(code))).resolves.toBeUndefined()
})
