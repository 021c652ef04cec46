/** Each script of package.json says what it does when it is asked, and does nothing. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}

test.for(Object.entries(scripts))('npm run %s -- --help', async ([, script]) => {
  const args = script.replace(/^node hack\/run.mjs /, '').split(' ')
  const { stdout } = await promisify(execFile)(process.execPath, [...args, '--help'], { cwd: ROOT })
  expect(stdout).toMatch(/^Usage: |^npm (run|test)/m)
})
