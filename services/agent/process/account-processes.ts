/** All processes of an account, whatever they have made of their group and session. */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Clock } from '#operator/model/clock.ts'
import { asAccount } from './confined-command.ts'
import { hasEnded } from './process-table.ts'
import { findSetpriv } from './setpriv.ts'

const run = promisify(execFile)
const POLL_INTERVAL_MS = 100

/** Numbers of those that live and have the account in any way. */
export const processesOf = async (uid: number): Promise<readonly number[]> => {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 1)
  const found = await Promise.all(pids.map(async (pid) => ((await accountsOf(pid)).includes(uid) ? pid : undefined)))
  return found.filter((pid) => pid !== undefined)
}

/** Accounts that the process has in any way; none for one that has ended. */
export const accountsOf = async (pid: number): Promise<readonly number[]> => {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    if (/^State:\s+[ZX]/m.test(status) && (await hasEnded(pid))) return []
    return (/^Uid:\s+(.*)$/m.exec(status)?.[1] ?? '').split('\t').map(Number)
  } catch {
    return []
  }
}

/** Resolves when none is left. Never for the account of the agent, or root. AGENT-45. */
export const endAccount = async (uid: number, clock: Clock): Promise<void> => {
  if (uid === 0 || uid === process.getuid?.()) return
  for (;;) {
    const left = await processesOf(uid)
    if (left.length === 0) return
    try {
      // By the system at once, so that none of them can start another one meanwhile.
      await run(findSetpriv() ?? 'setpriv', [...asAccount(uid), '/bin/sh', '-c', 'kill -KILL -1'], {
        cwd: '/',
        env: {},
      })
    } catch {
      for (const pid of left) killIfThere(pid)
    }
    await clock.sleep(POLL_INTERVAL_MS)
  }
}

const killIfThere = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
