import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { cacheFolder } from '../cache/folder.ts'
import { makeOnce, type Say } from '../cache/make-once.ts'
import { onPath } from '../cluster/programs.ts'
import { namespacesMissing } from '../process/namespaces.ts'
import { runToEnd } from '../process/run.ts'
import type { Installable } from './install.ts'

const run = promisify(execFile)

/** Makes root file systems from Debian's packages. */
export const DEBOOTSTRAP: Installable = {
  title: 'debootstrap',
  package: 'debootstrap',
  missing: () =>
    onPath('debootstrap') === undefined
      ? 'debootstrap is not installed: "apt-get install debootstrap" (Debian), as root'
      : undefined,
}

/** Why no root file system can be made here, and what to do; undefined when one can. */
export const debianRootMissing = (): string | undefined => {
  if (process.platform !== 'linux' || !existsSync('/etc/debian_version'))
    return 'Images are made from the packages of Debian: use a machine with Debian'
  if (process.getuid?.() !== 0) return 'A root file system can only be made by root'
  return DEBOOTSTRAP.missing() ?? namespacesMissing()
}

/** Mounts of its own, for debootstrap mounts /proc in the folder and a kill would leave it there; processes of its own, so that all end. */
const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child']

/**
 * A folder with this machine's Debian, its essential packages and these, which depend on others; kept in the cache and not to be
 * changed. Nothing in it has been started. Root only.
 */
export const ensureDebianRoot = async (
  packages: readonly string[],
  say: Say,
  signal?: AbortSignal,
): Promise<string> => {
  const suite = parseEnv(await readFile('/etc/os-release', 'utf8')).VERSION_CODENAME ?? ''
  const key = createHash('sha256')
    .update([suite, process.arch, ...packages.toSorted()].join('\n'))
    .digest('hex')
    .slice(0, 12)
  const parent = join(cacheFolder(), 'debian')
  await mkdir(parent, { recursive: true })
  // Programs in it that run as root for every caller are for no user of this machine.
  await chmod(parent, 0o700)
  const title = `Debian ${suite} with ${packages.length} packages`
  const make = async (draft: string): Promise<void> => {
    say(`Making a root file system of ${title} (a minute) …`)
    const include = `--include=${packages.join(',')}`
    const debootstrap = ['debootstrap', '--variant=minbase', include, suite, draft, await mirrorOf(suite)]
    await runToEnd({ name: 'debootstrap', command: 'unshare', args: [...NAMESPACES, ...debootstrap] }, signal)
    for (const rest of ['var/cache/apt', 'var/lib/apt/lists', 'var/log', 'debootstrap'])
      await rm(join(draft, rest), { recursive: true, force: true })
    await chmod(draft, 0o755)
  }
  return makeOnce({ folder: join(parent, `${suite}-${key}`), title, make }, say)
}

/** Where apt of this machine gets that suite from. */
const mirrorOf = async (suite: string): Promise<string> => {
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(RELEASE) $(SITE)', 'Created-By: Packages'])
  const line = stdout.split('\n').find((candidate) => candidate.startsWith(`${suite} `))
  if (line === undefined) throw new Error(`apt knows no mirror of ${suite}: add it to /etc/apt/sources.list`)
  return line.slice(suite.length + 1)
}
