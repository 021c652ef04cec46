import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { UNHANDLED_REJECTION } from './unhandled-rejections.ts'

const LOST = `Promise.reject(new Error('lost'))`

// RUNTIME-70
test.each([
  ['a rejection that nothing handles', LOST, /^Error: lost/],
  [
    'work that no code waits for and that fails',
    `detach('counting', ${LOST})`,
    /^Error: counting has failed[\s\S]*caused by Error: lost/,
  ],
])('%s is logged and counted, and the process goes on', async (_, work, error) => {
  const program = `
    import { createLogger } from ${JSON.stringify(join(import.meta.dirname, '../log/logger.ts'))}
    import { logUnhandledRejections, unhandledRejections } from ${JSON.stringify(join(import.meta.dirname, 'unhandled-rejections.ts'))}
    import { detach } from ${JSON.stringify(join(import.meta.dirname, 'detach.ts'))}
    import { setImmediate as turn } from 'node:timers/promises'
    logUnhandledRejections(createLogger())
    ${work}
    await turn()
    console.log(unhandledRejections())`
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module']
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...flags, '--eval', program], {
    cwd: join(import.meta.dirname, '../..'),
    // Without what notes the errors of processes for the run's end (hack/testing/uncaught.ts): these are meant.
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  expect(stdout.trim()).toBe('1')
  expect(JSON.parse(stderr)).toMatchObject({
    level: 'error',
    msg: UNHANDLED_REJECTION,
    error: expect.stringMatching(error),
  })
})
