import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** What NODE_OPTIONS must hold so that a process writes into the folder when it has an error that no code handled. */
export const uncaughtOptions = (folder: string): string => {
  const url = pathToFileURL(join(import.meta.dirname, 'uncaught.mjs'))
  url.searchParams.set('folder', folder)
  return `--import=${url.href}`
}

/** @throws Error that quotes every error that was written into the folder */
export const checkUncaught = async (folder: string): Promise<void> => {
  const files = await readdir(folder)
  if (files.length === 0) return
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  throw new Error(`processes of tests had an error that no code handled\n${texts.join('\n')}`)
}
