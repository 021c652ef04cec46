/** The folder that a program works in: whose it is, and where. */
import { chown, constants, type FileHandle, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LaunchError } from './launch.ts'

/** Below the folder of a placement; for a program of an account of its own, below the one that is for its account. */
export const workOf = (folder: string): string => join(folder, 'work')

/** Whose folder it is; undefined when it is none. */
export const ownerOf = async (path: string): Promise<number | undefined> => {
  try {
    const found = await lstat(path)
    return found.isDirectory() ? found.uid : undefined
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** Opens what a path leads to for no more than to name it, whatever it is: not in Node.js's constants. open(2) */
const O_PATH = 0o10000000

/**
 * Gives everything below to another account that is `from`'s, the folder itself last, so that what was broken off begins anew.
 * Follows no links, and leaves files that have a second name, which may be one elsewhere. A process of `from` may still be there and
 * exchange what lies on the way: all goes by what was opened, never by its name a second time.
 */
export const giveFolder = async (path: string, from: number, to: number): Promise<void> => {
  const handle = await openIfThere(path)
  if (handle === undefined) return
  await using _ = handle
  const here = `/proc/self/fd/${handle.fd}`
  const found = await handle.stat()
  if (found.isDirectory()) for (const name of await readdir(here)) await giveFolder(join(here, name), from, to)
  if (found.uid === from && (found.isDirectory() || found.nlink === 1)) await chown(here, to, to)
}

const openIfThere = async (path: string): Promise<FileHandle | undefined> => {
  try {
    return await open(path, O_PATH | constants.O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** What a program has written goes with it when it gets another account. Only where nothing is yet. @throws LaunchError */
export const moveWork = async (from: string, to: string): Promise<void> => {
  if ((await ownerOf(from)) === undefined || (await ownerOf(to)) !== undefined) return
  await mkdir(dirname(to), { recursive: true, mode: 0o700 })
  try {
    await rename(from, to)
  } catch (error) {
    throw new LaunchError(`its folder ${from} can't be moved to ${to}: move it by hand, or remove it`, { cause: error })
  }
}

export const removeFolder = (path: string): Promise<void> => rm(path, { recursive: true, force: true })
