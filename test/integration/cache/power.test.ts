import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { namespacesMissing } from '#hack/process/namespaces.ts'

const run = promisify(execFile)

const MODULE = JSON.stringify(join(import.meta.dirname, '../../../hack/cache/make-once.ts'))

/** Makes a thing, then does what makes names durable, as anything else on the disk may: not the contents. */
const MAKER = `
import { writeFile, open } from 'node:fs/promises'
import { makeOnce } from ${MODULE}
const [folder] = process.argv.slice(1)
const make = (draft) => writeFile(draft + '/program', 'x'.repeat(1_000_000))
await makeOnce({ folder: folder + '/v1', title: 'a thing', make }, console.error)
const other = await open(folder + '/other', 'w')
await other.sync()
`

/** A disk in a file, and what is on it when the power goes: what was not written to it yet is lost. In mounts of its own. */
const SCRIPT = `
set -e
cd "$1"
mkdir disk after
truncate --size=64M before.img
mkfs.ext4 -q before.img
mount -o loop before.img disk
"$2" --input-type=module --eval "$3" "$1/disk"
cp before.img after.img
umount disk
mount -o loop after.img after
if [ -e after/v1 ]; then wc --bytes < after/v1/program; else echo nothing; fi
umount after
`

test('what is there after the power went is whole', async ({ skip }) => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) skip('a disk is mounted by root on Linux alone')
  const missing = namespacesMissing()
  if (missing !== undefined) skip(missing)
  if (!existsSync('/dev/loop-control')) skip('this kernel has no disks in files')
  const folder = await temporaryFolder('power')
  await writeFile(join(folder, 'script'), SCRIPT)
  const args = ['--mount', 'sh', join(folder, 'script'), folder, process.execPath, MAKER]
  const { stdout } = await run('unshare', args)
  expect(stdout.trim()).toBe('1000000')
})
