import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const PROGRAM = `
import { dockerMissing } from ${JSON.stringify(join(import.meta.dirname, '../docker/missing.ts'))}
import { debianRootMissing } from ${JSON.stringify(join(import.meta.dirname, '../debian/root.ts'))}
console.log(JSON.stringify([dockerMissing(), debianRootMissing()]))
`

test('root without the right to make namespaces has no engine and no root file system, and is told why', ({ skip }) => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) skip('rights are taken from root alone')
  const without = ['--bounding-set=-sys_admin', '--inh-caps=-sys_admin', process.execPath]
  const output = execFileSync('setpriv', [...without, '--input-type=module', '--eval', PROGRAM], { encoding: 'utf8' })
  for (const reason of JSON.parse(output)) {
    // Of a machine where it is not installed either, the reason is that.
    if (/not installed|Debian/.test(reason)) continue
    expect(reason).toMatch(/^Namespaces can't be made here \(unshare: .*not permitted\): root needs CAP_SYS_ADMIN/)
  }
})
