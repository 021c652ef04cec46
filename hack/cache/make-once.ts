import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import lockfile from 'proper-lockfile'

/** A line of progress for people. */
export type Say = (line: string) => void

/** A folder that takes long to make and is kept. */
export interface Made {
  /** Where it is kept: it holds everything, or isn't there. */
  readonly folder: string
  /** For people: "the control plane". */
  readonly title: string
  /** Fills an empty folder, which becomes the one that is kept. */
  make(draft: string): Promise<void>
}

/**
 * The folder, made first when it isn't there. Two makers at once: the second waits for the first.
 * One that is interrupted leaves nothing that looks finished.
 */
export const makeOnce = async ({ folder, title, make }: Made, say: Say): Promise<string> => {
  if (existsSync(folder)) return folder
  const parent = dirname(folder)
  await mkdir(parent, { recursive: true })
  const release = await lock(parent, title, say)
  try {
    if (existsSync(folder)) return folder
    const leftovers = (await readdir(parent)).filter((name) => name.startsWith('building-'))
    await Promise.all(leftovers.map((name) => rm(join(parent, name), { recursive: true })))
    const draft = join(parent, `building-${process.pid}`)
    await mkdir(draft)
    try {
      await make(draft)
      await rename(draft, folder)
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
    return folder
  } finally {
    await release()
  }
}

/** The lock is a folder whose age its holder keeps fresh, so a maker that was killed does not block the next one. */
const lock = async (folder: string, title: string, say: Say): Promise<() => Promise<void>> => {
  const take = (retries: object | number) =>
    lockfile.lock(folder, { lockfilePath: join(folder, 'build.lock'), stale: 20_000, retries })
  try {
    return await take(0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error
    say(`Another process builds ${title}; waiting for it …`)
    return take({ forever: true, factor: 1, minTimeout: 500, maxTimeout: 500 })
  }
}
