import type { Clock } from '#operator/model/clock.ts'
import { isAlive, ownsGroup, type ProcessIdentity } from './process-table.ts'

const POLL_INTERVAL_MS = 100

/**
 * Ends a process and everything that it started in its group: SIGTERM, and SIGKILL for what is there after the timeout. AGENT-8.
 * @param timeout Milliseconds.
 */
export const stopGroup = async (leader: ProcessIdentity, timeout: number, clock: Clock): Promise<void> => {
  if (await isAlive(leader)) {
    signalGroup(leader.pid, 'SIGTERM')
    for (let waited = 0; waited < timeout && (await isAlive(leader)); waited += POLL_INTERVAL_MS)
      await clock.sleep(POLL_INTERVAL_MS)
  }
  await killGroup(leader, clock)
}

/** SIGKILL for all that is left of the group, be it that its leader is not. Resolves when its leader is gone. */
export const killGroup = async (leader: ProcessIdentity, clock: Clock): Promise<void> => {
  if (await ownsGroup(leader)) signalGroup(leader.pid, 'SIGKILL')
  while (await isAlive(leader)) await clock.sleep(POLL_INTERVAL_MS)
}

const signalGroup = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
