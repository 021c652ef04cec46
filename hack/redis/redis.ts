import { join } from 'node:path'
import { type Child, startChild, untilReady } from '../process/child.ts'
import { accepts, freePort } from '../process/ports.ts'

export interface Redis {
  /** 127.0.0.1:port */
  readonly address: string
  stop(): Promise<void>
}

/** Starts a redis-server on 127.0.0.1 that keeps nothing but its log, in the folder. @throws ProcessError */
export const startRedis = async (program: string, folder: string): Promise<Redis> => {
  const port = await freePort()
  const child: Child = await startChild({
    command: program,
    args: ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no'],
    cwd: folder,
    logFile: join(folder, 'redis.log'),
    guarded: true,
  })
  await untilReady(child, () => accepts(port))
  return {
    address: `127.0.0.1:${port}`,
    stop: async () => {
      await child.stop()
    },
  }
}
