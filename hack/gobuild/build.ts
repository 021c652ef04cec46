import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { makeOnce, type Say } from '../cache/make-once.ts'
import { signalGroup } from '../process/child.ts'
import { SetupError } from '../process/errors.ts'
import { forgetGroup, guardGroup } from '../process/reaper.ts'
import { type BinarySet, binariesFolder } from './set.ts'

/** Whether the binaries that this checkout wants are in the cache. */
export const isBuilt = (set: BinarySet): boolean => existsSync(binariesFolder(set))

/**
 * The folder with every binary of a set, built first when the cache does not have it.
 * @throws SetupError
 */
export const ensureBinaries = (set: BinarySet, say: Say, signal?: AbortSignal): Promise<string> => {
  const folder = binariesFolder(set)
  return makeOnce({ folder, title: set.title, make: (draft) => buildInto(draft, folder, set, say, signal) }, say)
}

/** With so much memory to spare, two programs are built at once: one is linked, on one core, while the other is compiled. */
const TWO_BUILDS_BYTES = 8 * 1024 ** 3

const buildInto = async (
  draft: string,
  folder: string,
  set: BinarySet,
  say: Say,
  signal?: AbortSignal,
): Promise<void> => {
  const startedAt = performance.now()
  say(`Building ${set.title} with Go into ${folder} (minutes the first time) …`)
  const programs = Object.entries(set.packages)
  const waiting = programs.values()
  let built = 0
  using scope = new AbortScope(signal)
  const { signal: ending } = scope
  const build = async (): Promise<void> => {
    for (const [name, source] of waiting) {
      await goBuild(set, source, join(draft, name), ending)
      say(`  ${++built}/${programs.length} ${name} (${Math.round((performance.now() - startedAt) / 1000)} s)`)
    }
  }
  const builders = Array.from({ length: process.availableMemory() < TWO_BUILDS_BYTES ? 1 : 2 }, () =>
    build().catch((error: unknown) => scope.abort(error)),
  )
  // All of them: what still ran would write into a folder that is gone.
  await Promise.all(builders)
  ending.throwIfAborted()
}

/** Go and its compilers are a process group of their own, so that they all end with us. */
const goBuild = async (set: BinarySet, source: string, output: string, signal?: AbortSignal): Promise<void> => {
  signal?.throwIfAborted()
  const go = spawn('go', ['build', ...set.flags, '-o', output, source], {
    cwd: set.module,
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  const closed = new Promise<number | null>((resolve, reject) => {
    go.once('error', (error: NodeJS.ErrnoException) => reject(error.code === 'ENOENT' ? noGo(set, error) : error))
    go.once('close', resolve)
  })
  const group = go.pid
  if (group === undefined) return void (await closed)
  // Tests that need nothing of it run beside it.
  setPriority(group, constants.priority.PRIORITY_LOW)
  const kill = () => signalGroup(group, 'SIGKILL')
  guardGroup(group)
  signal?.addEventListener('abort', kill)
  try {
    const errors = await text(go.stderr)
    const code = await closed
    signal?.throwIfAborted()
    if (code !== 0) throw new SetupError(`go build of ${source} failed (exit ${code}):\n${errors.trim().slice(-2000)}`)
  } finally {
    signal?.removeEventListener('abort', kill)
    forgetGroup(group)
  }
}

const noGo = ({ title }: BinarySet, cause: Error) =>
  new SetupError(
    `${title[0]?.toUpperCase()}${title.slice(1)} is built with Go, and "go" is not on the PATH: install Go 1.26 (https://go.dev/dl).`,
    { cause },
  )
