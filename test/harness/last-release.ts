/** `muster` as the last release has it, beside today's: hack/compatibility/last-release.txt names its commit. */
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { cp, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '#hack/cache/folder.ts'
import { makeOnce } from '#hack/cache/make-once.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { Command } from './muster.ts'

const run = promisify(execFile)

const CHECKOUT = join(import.meta.dirname, '..', '..')

/** Its commit. */
export const LAST_RELEASE = readFileSync(join(CHECKOUT, 'hack', 'compatibility', 'last-release.txt'), 'utf8').trim()

/** Each is some ten megabytes. */
const KEPT = 2

/** Why the last release can't be had here; undefined when it can. */
export const lastReleaseMissing = (): string | undefined => {
  try {
    execFileSync('git', ['cat-file', '-e', `${LAST_RELEASE}^{commit}`], { cwd: CHECKOUT, stdio: 'ignore' })
    return undefined
  } catch {
    return `the commit of the last release, ${LAST_RELEASE.slice(0, 7)}, is not in this checkout: fetch the whole history`
  }
}

/**
 * The bundle that it ships, built by its own `npm run build` out of its commit, and kept. Its packages are those of this checkout:
 * where these are others than its own, it is built with these, and what differs is told.
 * @returns what `startMuster` is given as command
 */
export const lastRelease = async (): Promise<Command> => {
  const lock = readFileSync(join(CHECKOUT, 'package-lock.json'), 'utf8')
  const packages = createHash('sha256').update(lock).digest('hex').slice(0, 12)
  const folder = join(cacheFolder(), 'last-release', `${LAST_RELEASE}-${packages}`)
  const make = (draft: string) => build(draft, lock)
  await makeOnce({ folder, title: 'the bundle of the last release', kept: KEPT, make }, console.error)
  return [process.execPath, join(folder, 'muster.mjs')]
}

/** A folder with its files, as they were committed. */
export const lastReleaseTree = async (): Promise<string> => {
  const folder = await temporaryFolder('last-release')
  const archive = join(folder, 'release.tar')
  await run('git', ['archive', `--output=${archive}`, LAST_RELEASE], { cwd: CHECKOUT })
  await run('tar', ['-xf', archive, '-C', folder])
  return folder
}

const build = async (draft: string, lock: string): Promise<void> => {
  const folder = await lastReleaseTree()
  const differing = differingPackages(readFileSync(join(folder, 'package-lock.json'), 'utf8'), lock)
  if (differing.length > 0)
    console.error(`the last release is built with other packages than its own: ${differing.join(', ')}`)
  await symlink(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'))
  const { stdout: time } = await run('git', ['show', '--no-patch', '--format=%cI', LAST_RELEASE], { cwd: CHECKOUT })
  await run(process.execPath, ['hack/build.ts', `--commit=${LAST_RELEASE}`, `--time=${time.trim()}`], { cwd: folder })
  await cp(join(folder, 'dist'), draft, { recursive: true })
}

type Versions = Readonly<Record<string, { readonly version?: string; readonly dev?: boolean }>>

/** Packages of which the second has another version than the first, as `name 1.0.0 → 1.0.1`. @param first the text of a package-lock.json */
const differingPackages = (first: string, second: string): readonly string[] => {
  const [before, after] = [first, second].map((text): Versions => JSON.parse(text).packages) as [Versions, Versions]
  return Object.entries(before).flatMap(([path, { version, dev }]) =>
    path === '' || dev || version === after[path]?.version
      ? []
      : [`${path.replace('node_modules/', '')} ${version} → ${after[path]?.version ?? 'none'}`],
  )
}
