import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { UNHANDLED_REJECTION } from './unhandled-rejections.ts'

// RUNTIME-70
test('a rejection that nothing handles is logged and counted, and the process goes on', async () => {
  const program = `
    import { createLogger } from ${JSON.stringify(join(import.meta.dirname, '../log/logger.ts'))}
    import { logUnhandledRejections, unhandledRejections } from ${JSON.stringify(join(import.meta.dirname, 'unhandled-rejections.ts'))}
    import { setImmediate as turn } from 'node:timers/promises'
    logUnhandledRejections(createLogger())
    Promise.reject(new Error('lost'))
    await turn()
    console.log(unhandledRejections())`
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module']
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...flags, '--eval', program], {
    cwd: join(import.meta.dirname, '../..'),
  })
  expect(stdout.trim()).toBe('1')
  expect(JSON.parse(stderr)).toMatchObject({
    level: 'error',
    msg: UNHANDLED_REJECTION,
    error: expect.stringMatching(/^Error: lost/),
  })
})
