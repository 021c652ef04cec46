import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

export type Say = (line: string) => void

/** A program of this machine that tests need. */
export interface Installable {
  /** For people: "PostgreSQL". */
  readonly title: string
  /** Debian's package. */
  readonly package: string
  /** Why it is not there and what to do; undefined when it is. */
  missing(): string | undefined
}

/** Whether we may install Debian's packages: as root on a machine with apt-get. */
export const mayInstall = (): boolean => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')

/** Installs Debian's packages of what is missing when we may. */
export const ensureInstalled = async (programs: readonly Installable[], say: Say): Promise<void> => {
  const missing = programs.filter((program) => program.missing() !== undefined)
  if (missing.length === 0 || !mayInstall()) return
  const packages = missing.map((program) => program.package)
  say(`Installing ${missing.map(({ title }) => title).join(', ')} (apt-get install ${packages.join(' ')}) …`)
  const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, maxBuffer: 64 * 1024 * 1024 }
  const lock = ['-o', `DPkg::Lock::Timeout=${LOCK_TIMEOUT_S}`]
  await using _ = await withoutServices()
  await run('apt-get', [...lock, 'update', '-qq'], options)
  await run('apt-get', [...lock, 'install', '-qq', '--no-install-recommends', ...packages], options)
}

/** Another run of apt-get is waited for. */
const LOCK_TIMEOUT_S = 600

/** Debian: what invoke-rc.d asks before it starts the service of a package that was installed. */
const POLICY = '/usr/sbin/policy-rc.d'

/** Packages are wanted for their programs: until it is disposed of, none of their services starts. A policy of the machine stays. */
const withoutServices = async (): Promise<AsyncDisposable> => {
  if (existsSync(POLICY)) return { [Symbol.asyncDispose]: () => Promise.resolve() }
  await writeFile(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  return { [Symbol.asyncDispose]: () => rm(POLICY, { force: true }) }
}
