import { execFile } from 'node:child_process'
import { cp, mkdir, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../process/folder.ts'

const run = promisify(execFile)

/** A copy of what Git knows of a checkout, with the checkout's packages: what is changed in it, the checkout doesn't see. */
export const copyCheckout = async (root: string): Promise<{ readonly folder: string } & AsyncDisposable> => {
  const folder = await temporaryFolder('mutants')
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const { stdout } = await run('git', list, { cwd: root, maxBuffer: 64 * 1024 * 1024 })
  for (const path of stdout.split('\0').filter((found) => found !== '')) {
    await mkdir(join(folder, dirname(path)), { recursive: true })
    // A file may be deleted and not yet committed so.
    await cp(join(root, path), join(folder, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
