/** Looks at the machine before any program is started: whose account can they have, and what can they reach by it? AGENT-44. */
import { execFile } from 'node:child_process'
import { closeSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { errorOf } from '#lib/errors/error-of.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { Logger } from '#operator/model/log.ts'
import { AGENT_ERRORS } from '../errors.ts'
import { accountHost } from './account-host.ts'
import { openAccounts } from './accounts.ts'
import { asAccount } from './confined-command.ts'
import { findMissingCapabilities, hasAccounts } from './find-missing-rights.ts'
import type { ProgramHost } from './program-host.ts'
import type { ProgramUser, UidRange } from './program-users.ts'
import { selfHost } from './self-host.ts'
import { findSetpriv } from './setpriv.ts'

const run = promisify(execFile)

export interface ProgramSettings {
  readonly user: ProgramUser
  /** Where programs that have accounts of their own have their folders. */
  readonly folder: string
  readonly uids: UidRange
  /** Files that programs must not read. */
  readonly secrets: readonly string[]
}

/** Programs would not reach their folders, or would reach what is not theirs. The message says which folder or file. */
export class ProgramsError extends errorOf(AGENT_ERRORS, 'ProgramsError') {}

/** @param state the agent's own folder @param agent tells it from other agents of the machine @throws ProgramsError */
export const openHost = async (
  settings: ProgramSettings,
  state: string,
  agent: string,
  log: Logger,
): Promise<ProgramHost> => {
  if (settings.user === 'self') {
    log.warn('programs have the account of the agent: they can read its key and its state', { flag: '--program-user' })
    return selfHost(settings.folder)
  }
  const refused = (problem: string): ProgramHost => {
    const whole = `${problem}: no programs are started; ${REMEDY}`
    log.warn('programs can’t have accounts of their own here', { problem: whole })
    return selfHost(settings.folder, whole)
  }
  const setpriv = findSetpriv()
  if (setpriv === undefined) return refused('this device has no setpriv of util-linux')
  const problem = await findMissingRights(settings.uids)
  if (problem !== undefined) return refused(problem)
  closeInherited()
  await chmod(state, 0o700)
  await mkdir(settings.folder, { recursive: true, mode: 0o711 })
  const folder = await realpath(settings.folder)
  await chmod(folder, 0o711)
  const failed = await probe(setpriv, settings, folder)
  if (failed !== undefined) return refused(failed)
  const accounts = await openAccounts(join(state, 'program-accounts.json'), settings.uids, agent, log)
  return accountHost({ setpriv, folder, accounts })
}

const REMEDY = 'run the agent as root, or have it start them under its own account by --program-user=self'

const findMissingRights = async (uids: UidRange): Promise<string | undefined> => {
  const missing = findMissingCapabilities(await readFile('/proc/self/status', 'utf8'))
  if (missing.length > 0) return `this agent runs without ${missing.join(', ')}`
  for (const map of ['uid_map', 'gid_map'])
    if (!hasAccounts(await readFile(`/proc/self/${map}`, 'utf8'), uids))
      return `its container has no accounts ${uids.first} to ${uids.last}, see --program-uids`
  return undefined
}

/** Says which folder can't be entered, or which file can be read; in that order. */
const PROBE = [
  'while [ "$1" != / ]; do cd "$1" 2>/dev/null || { echo "folder $1"; exit; }; shift; done',
  'shift',
  'for file; do [ -r "$file" ] && { echo "file $file"; exit; }; done',
  ':',
].join('\n')

/** Tries it as one of the accounts. @returns why the account can't be had @throws ProgramsError */
const probe = async (setpriv: string, settings: ProgramSettings, folder: string): Promise<string | undefined> => {
  const secrets = await Promise.all(settings.secrets.map((path) => realpath(path)))
  const args = [...asAccount(settings.uids.last), '/bin/sh', '-c', PROBE, 'probe', ...pathTo(folder), '/', ...secrets]
  let answer: string
  try {
    answer = (await run(setpriv, args, { cwd: '/', env: {} })).stdout.trim()
  } catch (error) {
    return `setpriv fails: ${messageOf(error)}`
  }
  const [what, ...rest] = answer.split(' ')
  const path = rest.join(' ')
  if (what === 'folder')
    throw new ProgramsError(
      `--program-dir: programs have accounts of their own, which can't pass through ${path} to ${folder}: let all pass by chmod o+x ${path}, name another folder, or start them under the account of the agent by --program-user=self`,
    )
  if (what === 'file')
    throw new ProgramsError(
      `${path} can be read by every account of this machine, so by programs too: chmod 600 ${path}`,
    )
  return undefined
}

/** `/a/b` → `/a`, `/a/b` */
const pathTo = (folder: string): readonly string[] => (folder === '/' ? [] : [...pathTo(dirname(folder)), folder])

/** O_CLOEXEC as `/proc/self/fdinfo` has it. */
const CLOSE_ON_EXEC = 0o2000000

/** What started the agent may have left files open in it, which programs would have too. Node marks its own. */
const closeInherited = (): void => {
  for (const name of readdirSync('/proc/self/fdinfo')) {
    const descriptor = Number(name)
    if (descriptor <= 2) continue
    try {
      const [, flags = ''] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8')) ?? []
      if ((Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(descriptor)
    } catch {
      // It was that of the list, which is closed by now.
    }
  }
}
