import { join } from 'node:path'
import { type Child, startChild, untilReady } from '../process/child.ts'
import { accepts, freePort } from '../process/ports.ts'

export interface Nats {
  /** nats://127.0.0.1:port */
  readonly url: string
  readonly logFile: string
  /** The process that serves at present: another one after a restart. */
  process(): Child
  /** SIGKILL. */
  kill(): Promise<void>
  /** Has it read its configuration again: SIGHUP. */
  reload(): void
  /** On the same port with the same streams. */
  restart(): Promise<void>
  /** The folder stays. */
  stop(): Promise<void>
}

/**
 * Starts a nats-server with JetStream on 127.0.0.1, which keeps its streams and its log in the folder.
 * @param config path of a configuration file with what is not said here, such as users
 * @param chosen a port that is free; any when left out
 * @throws ProcessError
 */
export const startNats = async (binaries: string, folder: string, config?: string, chosen?: number): Promise<Nats> => {
  const port = chosen ?? (await freePort())
  const logFile = join(folder, 'nats-server.log')
  const start = async (): Promise<Child> => {
    const child = await startChild({
      command: join(binaries, 'nats-server'),
      args: [
        '--addr=127.0.0.1',
        `--port=${port}`,
        '--jetstream',
        `--store_dir=${folder}`,
        ...(config === undefined ? [] : [`--config=${config}`]),
      ],
      logFile,
      guarded: true,
    })
    await untilReady(child, () => accepts(port))
    return child
  }
  let child = await start()
  return {
    url: `nats://127.0.0.1:${port}`,
    logFile,
    process: () => child,
    kill: async () => {
      await child.kill()
    },
    reload: () => {
      process.kill(child.pid, 'SIGHUP')
    },
    restart: async () => {
      await child.kill()
      child = await start()
    },
    stop: async () => {
      await child.stop()
    },
  }
}
