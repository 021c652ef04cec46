/**
 * Which temporary folders belong to which process, for a process whose reaper was killed with it: what both left is found by the next
 * one that looks.
 */
import { randomBytes } from 'node:crypto'
import { appendFile, lstat, mkdir, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type Identity, identify, isRunning } from './identity.ts'
import { guardFolder } from './reaper.ts'

/** One list a process: its identity, then a folder a line. */
const listsFolder = (): string => join(tmpdir(), `muster-owners-${process.getuid?.() ?? ''}`)

let list: Promise<string> | undefined

/** Notes that a folder is ours. It is noted before it is made, so a kill between the two leaves nothing. */
export const recordFolder = async (folder: string): Promise<void> => {
  list ??= startList()
  await appendFile(await list, `${folder}\n`)
}

const startList = async (): Promise<string> => {
  const folder = listsFolder()
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, `${process.pid}-${randomBytes(4).toString('hex')}`)
  // The reaper has no further use for it when it has removed the folders.
  guardFolder(file)
  await writeFile(file, `${JSON.stringify(await identify(process.pid))}\n`, { flag: 'wx', mode: 0o600 })
  return file
}

/** Removes the temporary folders of processes that have ended and could not do so themselves. @returns which it removed */
export const sweepFoldersOfTheDead = async (): Promise<readonly string[]> => {
  const lists = listsFolder()
  if (!(await isOurs(lists))) return []
  const parent = await realpath(tmpdir())
  const isTemporary = (folder: string) => dirname(folder) === parent && basename(folder).startsWith('muster-')
  const swept: string[] = []
  for (const name of await readdir(lists)) {
    const file = join(lists, name)
    const [first = '', ...folders] = (await readFile(file, 'utf8').catch(() => '')).split('\n')
    const owner = parseOwner(first)
    if (owner === undefined || (await isRunning(owner))) continue
    for (const folder of folders.filter(isTemporary)) {
      if (!(await isOurs(folder))) continue
      await rm(folder, { recursive: true, force: true })
      swept.push(folder)
    }
    await rm(file, { force: true })
  }
  return swept
}

/** Undefined for a list that is being begun. */
const parseOwner = (line: string): Identity | undefined => {
  try {
    return JSON.parse(line) as Identity
  } catch {
    return undefined
  }
}

/** Another user of the machine may have put something there under that name. */
const isOurs = async (path: string): Promise<boolean> => {
  try {
    const stats = await lstat(path)
    return stats.isDirectory() && stats.uid === (process.getuid?.() ?? stats.uid)
  } catch {
    return false
  }
}
