import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolder } from '../../cache/folder.ts'
import { temporaryFolder } from '../../process/folder.ts'
import { writeImageArchive } from '../archive.ts'
import { digestOf, type ImageSource, layOut } from './source.ts'

/** Milliseconds after which an archive that nothing has asked for is removed, when another one of its name is written. */
const UNUSED_MS = 7 * 24 * 3_600_000

/** The archive of an image, from the cache when the same has been made before. @returns its path */
export const ensureArchive = async (source: ImageSource, say: (line: string) => void): Promise<string> => {
  const folder = join(cacheFolder(), 'images')
  const archive = join(folder, `${source.name}-${(await digestOf(source)).slice(0, 16)}.tar`)
  if (existsSync(archive)) {
    const now = new Date()
    await utimes(archive, now, now)
    return archive
  }
  say(`  Making the image ${source.tag} …`)
  await mkdir(folder, { recursive: true })
  await removeUnused(folder, source.name)
  const { entries, tag, entrypoint, user, env, labels } = source
  const root = await temporaryFolder('image')
  try {
    await layOut(root, entries)
    await writeImageArchive(archive, { folder: root, tags: [tag], entrypoint, user, env, labels })
  } finally {
    await rm(root, { recursive: true, force: true })
  }
  return archive
}

const removeUnused = async (folder: string, name: string): Promise<void> => {
  for (const file of await readdir(folder)) {
    const path = join(folder, file)
    const isOurs = new RegExp(`^${name}-[0-9a-f]{16}\\.tar`).test(file)
    if (isOurs && Date.now() - (await stat(path)).mtimeMs > UNUSED_MS) await rm(path, { force: true })
  }
}
