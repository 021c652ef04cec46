/** One agent for each state folder: a second one would start the same workloads again. AGENT-11. */

import { createHash } from 'node:crypto'
import { createServer } from 'node:net'
import { errorOf } from '#lib/errors/error-of.ts'
import { AGENT_ERRORS } from './errors.ts'

/** Another agent has the folder. */
export class LockedError extends errorOf(AGENT_ERRORS, 'LockedError') {
  constructor(folder: string) {
    super(`another agent uses ${folder}: end it, or give this one a --state-dir of its own`)
  }
}

/** Without a path in the file system, so that the system itself lets go of it when its owner dies. Linux: unix(7), abstract. */
const socketOf = (id: string): string =>
  process.platform === 'linux' ? `\0muster-agent-${id}` : `/tmp/muster-agent-${id}.sock`

/** What tells the agent of a folder from others of this machine. @param folder Its real path. */
export const agentId = (folder: string): string => createHash('sha256').update(folder).digest('hex').slice(0, 16)

/** Holds the folder until it is disposed of, or the process ends. @throws LockedError */
export const lockFolder = async (folder: string): Promise<AsyncDisposable> => {
  // Every program of the machine can connect to it; none has anything to say.
  const server = createServer((connection) => connection.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new LockedError(folder) : error),
    )
    server.listen(socketOf(agentId(folder)), resolve)
  })
  server.unref()
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) }
}
