import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import lockfile from 'proper-lockfile'
import { signalGroup } from '../process/child.ts'
import { forgetGroup, guardGroup } from '../process/reaper.ts'
import { BINARIES, type Binary, BUILD_FLAGS, binaryNames } from './binaries.ts'
import { binariesFolder } from './cache.ts'

/** A line of progress for people. */
export type Say = (line: string) => void

/** Go is missing or could not build: the message says which, and what to do. */
export class BuildError extends Error {
  override readonly name = 'BuildError'
}

/** Whether the binaries that this checkout wants are in the cache. */
export const isBuilt = (): boolean => existsSync(binariesFolder())

/**
 * The folder with every binary of the control plane, built first when the cache does not have it.
 * Two builders at once: the second waits for the first. A build that is interrupted leaves nothing that looks finished.
 * @throws BuildError
 */
export const ensureBinaries = async (say: Say, signal?: AbortSignal): Promise<string> => {
  const folder = binariesFolder()
  if (existsSync(folder)) return folder
  const parent = dirname(folder)
  await mkdir(parent, { recursive: true })
  const release = await lockWith(parent, say)
  try {
    if (!existsSync(folder)) await buildInto(folder, say, signal)
  } finally {
    await release()
  }
  return folder
}

/** The lock is a folder whose age its holder keeps fresh, so a builder that was killed does not block the next one. */
const lockWith = async (folder: string, say: Say): Promise<() => Promise<void>> => {
  const lock = (retries: object | number) =>
    lockfile.lock(folder, { lockfilePath: join(folder, 'build.lock'), stale: 20_000, retries })
  try {
    return await lock(0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error
    say('Another process builds the control plane; waiting for it …')
    return lock({ forever: true, factor: 1, minTimeout: 500, maxTimeout: 500 })
  }
}

const buildInto = async (folder: string, say: Say, signal?: AbortSignal): Promise<void> => {
  const parent = dirname(folder)
  const leftovers = (await readdir(parent)).filter((name) => name.startsWith('building-'))
  await Promise.all(leftovers.map((name) => rm(join(parent, name), { recursive: true })))
  const draft = join(parent, `building-${process.pid}`)
  await mkdir(draft)
  const startedAt = performance.now()
  say(`Building the control plane with Go into ${folder} (minutes the first time) …`)
  for (const [index, name] of binaryNames.entries()) {
    await goBuild(name, join(draft, name), signal)
    say(`  ${index + 1}/${binaryNames.length} ${name} (${Math.round((performance.now() - startedAt) / 1000)} s)`)
  }
  await rename(draft, folder)
}

/** Go and its compilers are a process group of their own, so that they all end with us. */
const goBuild = async (name: Binary, output: string, signal?: AbortSignal): Promise<void> => {
  signal?.throwIfAborted()
  const go = spawn('go', ['build', ...BUILD_FLAGS, '-o', output, BINARIES[name]], {
    cwd: import.meta.dirname,
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  const closed = new Promise<number | null>((resolve, reject) => {
    go.once('error', (error: NodeJS.ErrnoException) => reject(error.code === 'ENOENT' ? noGo(error) : error))
    go.once('close', resolve)
  })
  const group = go.pid
  if (group === undefined) return void (await closed)
  const kill = () => signalGroup(group, 'SIGKILL')
  guardGroup(group)
  signal?.addEventListener('abort', kill)
  try {
    const errors = await text(go.stderr)
    const code = await closed
    signal?.throwIfAborted()
    if (code !== 0) throw new BuildError(`go build of ${name} failed (exit ${code}):\n${errors.trim().slice(-2000)}`)
  } finally {
    signal?.removeEventListener('abort', kill)
    forgetGroup(group)
  }
}

const noGo = (cause: Error) =>
  new BuildError(
    'The control plane is built with Go, and "go" is not on the PATH: install Go 1.26 (https://go.dev/dl).',
    {
      cause,
    },
  )
