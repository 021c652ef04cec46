import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Child } from './child.ts'
import { type Identity, identify } from './identity.ts'

/** Milliseconds after which it is seen which children are left. */
const INTERVAL_MS = 5

/**
 * SIGKILL, also to its children, each of which may be in a group of its own. Resolves when all are gone: what they shared is
 * free. Without Linux's /proc its children are not known.
 */
export const killWithChildren = async (child: Child): Promise<void> => {
  // While it stands still it makes no more of them, and the number of one that ends is not given to another process.
  child.signal('SIGSTOP')
  while (child.exit() === undefined) {
    const running = await runningChildrenOf(child.pid)
    if (running.length === 0) break
    for (const { pid } of running) killProcess(pid)
    await delay(INTERVAL_MS)
  }
  await child.kill()
}

/** It may have ended by itself. */
const killProcess = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Without those that have ended and are only still listed. */
const runningChildrenOf = async (pid: number): Promise<readonly Identity[]> => {
  const children = await Promise.all(childrenOf(pid).map(identify))
  return children.filter((child) => child !== undefined)
}

const childrenOf = (pid: number): readonly number[] => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}
