import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { identify } from '../process/identity.ts'
import { takeLock } from '../process/lock.ts'

const run = promisify(execFile)

/** A line of progress for people. */
export type Say = (line: string) => void

/** A folder that takes long to make and is kept. */
export interface Made {
  /** Where it is kept: it holds everything, or isn't there. */
  readonly folder: string
  /** For people: "the control plane". */
  readonly title: string
  /** Of the folders beside it so many stay, those that were used last; all when undefined. */
  readonly kept?: number
  /** Fills an empty folder, which becomes the one that is kept. */
  make(draft: string): Promise<void>
}

/**
 * The folder, made first when it isn't there. Two makers at once: the second waits for the first.
 * One that is interrupted leaves nothing that looks finished, even when the machine loses its power.
 */
export const makeOnce = async (made: Made, say: Say): Promise<string> => {
  const { folder, title, kept } = made
  const parent = dirname(folder)
  if (!existsSync(folder)) {
    await mkdir(parent, { recursive: true })
    const release = await takeLock(join(parent, LOCK), {
      onWaiting: () => say(`Another process builds ${title}; waiting for it …`),
      onLost: () => say(`The clock was set or the machine slept: another process may build ${title} as well`),
    })
    try {
      await makeUnder(made, parent)
      if (kept !== undefined) await forgetOlder(parent, folder, kept)
    } finally {
      await release()
    }
  } else if (kept !== undefined) {
    await utimes(folder, new Date(), new Date())
  }
  return folder
}

/** The lock saves work alone: without it two makers would each finish a draft of their own, and the first would be kept. */
const makeUnder = async ({ folder, make }: Made, parent: string): Promise<void> => {
  if (existsSync(folder)) return
  await removeDeadDrafts(parent)
  const draft = join(parent, `${await draftPrefix(process.pid)}${randomBytes(4).toString('hex')}`)
  await mkdir(draft)
  try {
    await make(draft)
    await flushFilesystem(draft)
    await rename(draft, folder).catch((error: unknown) => {
      // Another one was first.
      if (!existsSync(folder)) throw error
    })
    await flushFolder(parent)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

const LOCK = 'build.lock'

const DRAFT = /^building-(\d+)/

/** Its maker can be told from a later process with the same number. */
const draftPrefix = async (pid: number): Promise<string> => {
  const started = createHash('sha256').update((await identify(pid))?.started ?? '')
  return `building-${pid}-${started.digest('hex').slice(0, 8)}-`
}

const removeDeadDrafts = async (parent: string): Promise<void> => {
  for (const name of await readdir(parent)) {
    const [, pid] = DRAFT.exec(name) ?? []
    if (pid === undefined || name.startsWith(await draftPrefix(Number(pid)))) continue
    await rm(join(parent, name), { recursive: true, force: true })
  }
}

/** Each may be a gigabyte. The current one stays, whatever a clock said when the others were used. */
const forgetOlder = async (parent: string, current: string, kept: number): Promise<void> => {
  const names = (await readdir(parent)).filter((name) => name !== LOCK && !DRAFT.test(name))
  const others = names.map((name) => join(parent, name)).filter((folder) => folder !== current)
  const used = await Promise.all(others.map(async (folder) => ({ folder, at: (await stat(folder)).mtimeMs })))
  for (const { folder } of used.toSorted((a, b) => b.at - a.at).slice(kept - 1))
    await rm(folder, { recursive: true, force: true })
}

/** What is in the folder is on the disk before its name says that it is whole. One call is cheaper than one for each of its files. */
const flushFilesystem = async (folder: string): Promise<void> => {
  await run('sync', process.platform === 'linux' ? ['-f', folder] : [])
}

const flushFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
