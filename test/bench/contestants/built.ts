/** Contestants are built once and kept in the cache folder, named by what they were built from. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '#hack/cache/folder.ts'

/**
 * The folder that `build` has filled, from the cache when `sources` are the same. A build that fails or is interrupted
 * leaves nothing that looks finished.
 */
export const built = async (
  name: string,
  sources: string,
  build: (folder: string) => Promise<void>,
): Promise<string> => {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}`)
  for (const file of readdirSync(sources).toSorted()) hash.update(file).update(readFileSync(join(sources, file)))
  const folder = join(cacheFolder(), 'bench', `${name}-${hash.digest('hex').slice(0, 12)}`)
  if (existsSync(folder)) return folder
  await mkdir(dirname(folder), { recursive: true })
  const draft = await mkdtemp(join(dirname(folder), 'building-'))
  try {
    await build(draft)
    await rename(draft, folder)
  } catch (error) {
    // Another run may have built the same at the same time; its build is as good.
    await rm(draft, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  return folder
}

/** Runs a build tool to its end. @throws with the last lines of what it printed */
export const tool = async (
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: object } = {},
): Promise<string> => {
  try {
    const env = { ...process.env, ...options.env }
    const { stdout } = await promisify(execFile)(command, [...args], { ...options, env, maxBuffer: 2 ** 26 })
    return stdout.trim()
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string }
    const words = stderr.trim().split('\n').slice(-3).join(' ') || message
    throw new Error(`${[command, ...args].join(' ')}: ${words}`, { cause: error })
  }
}
