import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Child, startChild, untilReady } from '../process/child.ts'
import { freePort } from '../process/ports.ts'

const run = promisify(execFile)

export interface Postgres {
  /** postgres://user:password@127.0.0.1:port/postgres */
  readonly url: string
  readonly logFile: string
  /** SIGKILL. */
  kill(): Promise<void>
  /** On the same port with the same data. */
  restart(): Promise<void>
  /** The folder stays. */
  stop(): Promise<void>
}

type Account = { readonly uid: number; readonly gid: number }

/**
 * Starts a PostgreSQL of its own on 127.0.0.1, with its data and log in the folder. Nothing is forced to the disk, which a
 * test does not need: what was committed survives a kill of the process, though not of the machine. PostgreSQL refuses to
 * run as root, so root runs it as the user `postgres`, whom the package creates, and gives that user the folder.
 * @throws ProcessError
 */
export const startPostgres = async (programs: string, folder: string): Promise<Postgres> => {
  const account = process.getuid?.() === 0 ? await accountOf('postgres') : undefined
  if (account !== undefined) await chown(folder, account.uid, account.gid)
  const data = join(folder, 'data')
  const password = randomBytes(12).toString('hex')
  await initialise(programs, folder, data, password, account)

  const port = await freePort()
  const logFile = join(folder, 'postgres.log')
  const start = async (): Promise<Child> => {
    const child = await startChild({
      command: join(programs, 'postgres'),
      args: ['-D', data, '-p', String(port), '-h', '127.0.0.1', ...settings()],
      cwd: folder,
      logFile,
      guarded: true,
      ...(account === undefined ? {} : { user: account }),
    })
    await untilReady(child, () => answers(programs, port))
    return child
  }
  let child = await start()
  return {
    url: `postgres://muster:${password}@127.0.0.1:${port}/postgres`,
    logFile,
    kill: async () => {
      await child.kill()
    },
    restart: async () => {
      await child.kill()
      child = await start()
    },
    stop: async () => {
      // SIGTERM would wait for the clients to leave; SIGINT ends their sessions.
      child.signal('SIGINT')
      await child.exited
    },
  }
}

const settings = (): readonly string[] =>
  ['unix_socket_directories=', 'fsync=off', 'full_page_writes=off'].flatMap((setting) => ['-c', setting])

const initialise = async (programs: string, folder: string, data: string, password: string, account?: Account) => {
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (account !== undefined) await chown(passwordFile, account.uid, account.gid)
  const locale = ['--encoding=UTF8', '--locale=C.UTF-8']
  const access = ['--username=muster', '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  await run(join(programs, 'initdb'), ['-D', data, '--no-sync', ...locale, ...access], { cwd: folder, ...account })
}

const answers = async (programs: string, port: number): Promise<boolean> => {
  try {
    await run(join(programs, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port), '-q'])
    return true
  } catch {
    return false
  }
}

const accountOf = async (name: string): Promise<Account> => {
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (flag) => Number((await run('id', [flag, name])).stdout)))
  return { uid: uid as number, gid: gid as number }
}
