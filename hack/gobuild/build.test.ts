import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'

const run = promisify(execFile)

const PROGRAM = `
import { ensureBinaries } from ${JSON.stringify(join(import.meta.dirname, 'build.ts'))}
import { CONTROL_PLANE } from ${JSON.stringify(join(import.meta.dirname, '../controlplane/binaries.ts'))}
await ensureBinaries(CONTROL_PLANE, console.error).catch((error) => console.log(error.name + ': ' + error.message))
`

test('without Go the reason and the remedy are one line, and nothing looks built', async () => {
  const env = { PATH: '/nonexistent', MUSTER_CACHE: await temporaryFolder('cache') }
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '--eval', PROGRAM], { env })
  expect(stdout).toBe(
    'SetupError: The control plane is built with Go, and "go" is not on the PATH: install Go 1.26 (https://go.dev/dl).\n',
  )
  expect(stderr).toContain('Building the control plane')
  const again = await run(process.execPath, ['--input-type=module', '--eval', PROGRAM], { env })
  expect(again.stdout).toContain('SetupError')
})
