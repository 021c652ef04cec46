import lockfile from 'proper-lockfile'

export interface LockOptions {
  /** Another process has it. */
  readonly onWaiting?: () => void
  /** Another process may have taken it, because it looked abandoned: the clock was set or the machine slept. Our work goes on. */
  readonly onLost: () => void
  /** Milliseconds without a sign of its holder after which a lock is abandoned; at least 2000. */
  readonly abandonedAfterMs?: number
}

const RETRY_MS = 500

/**
 * Takes a lock that only one process of this machine can have, and waits for it when need be. It is a folder whose age its holder keeps
 * fresh, so a process that was killed blocks no other one for long.
 * @param path where the lock is; its parent exists
 * @returns what gives it back
 */
export const takeLock = async (
  path: string,
  { onWaiting, onLost, abandonedAfterMs = 20_000 }: LockOptions,
): Promise<() => Promise<void>> => {
  let isLost = false
  const onCompromised = () => {
    isLost = true
    onLost()
  }
  const take = (retries: object | number) =>
    lockfile.lock(path, { lockfilePath: path, realpath: false, stale: abandonedAfterMs, retries, onCompromised })
  // A lock that is another one's by now is not ours to give back.
  const giveBack = (release: () => Promise<void>) => async () => {
    if (!isLost) await release().catch(ignoreLost)
  }
  try {
    return giveBack(await take(0))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error
    onWaiting?.()
    return giveBack(await take({ forever: true, factor: 1, minTimeout: RETRY_MS, maxTimeout: RETRY_MS }))
  }
}

const ignoreLost = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOTACQUIRED') throw error
}
