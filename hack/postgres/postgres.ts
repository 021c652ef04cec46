import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Child, startChild, untilReady } from '../process/child.ts'
import { killWithChildren } from '../process/kill-with-children.ts'
import { freePort } from '../process/ports.ts'

const run = promisify(execFile)

export interface Postgres {
  /** postgres://user:password@127.0.0.1:port/postgres */
  readonly url: string
  readonly logFile: string
  /** SIGKILL, also of what serves its connections. Resolves when all are gone. */
  kill(): Promise<void>
  /** Kills it, and begins on the same port with the same data. */
  restart(): Promise<void>
  /** The folder stays. */
  stop(): Promise<void>
}

/** The user whom the server runs as; undefined for ours. */
export type Account = { readonly uid: number; readonly gid: number }

/** What commits cost in production: each is forced to the disk, as PostgreSQL does by itself. */
export const FORCED_TO_DISK: readonly string[] = ['fsync=on', 'full_page_writes=on']

/**
 * Starts a PostgreSQL of its own on 127.0.0.1, with its data and log in the folder. Nothing is forced to the disk, which a
 * test does not need: what was committed survives a kill of the process, though not of the machine. PostgreSQL refuses to
 * run as root, so root runs it as the user `postgres`, whom the package creates, and gives that user the folder.
 * @param settings `name=value`, such as FORCED_TO_DISK
 * @throws ProcessError
 */
export const startPostgres = async (
  programs: string,
  folder: string,
  settings: readonly string[] = [],
): Promise<Postgres> => {
  const account = await serverAccount()
  await giveTo(account, folder)
  const data = join(folder, 'data')
  const password = randomBytes(12).toString('hex')
  await initialise(programs, folder, data, password, account)
  return runPostgres({ programs, folder, data, password, account, settings })
}

/** A data folder that a server can run on. */
export interface Instance {
  /** Folder of PostgreSQL's programs. */
  readonly programs: string
  /** For its log. */
  readonly folder: string
  readonly data: string
  /** Of the user `muster`. */
  readonly password: string
  readonly account: Account | undefined
  /** `name=value`, beside and before what every test server has. */
  readonly settings?: readonly string[]
}

/** Runs a server on a data folder that is there. @throws ProcessError */
export const runPostgres = async ({
  programs,
  folder,
  data,
  password,
  account,
  settings = [],
}: Instance): Promise<Postgres> => {
  const port = await freePort()
  const logFile = join(folder, 'postgres.log')
  const start = async (): Promise<Child> => {
    const child = await startChild({
      command: join(programs, 'postgres'),
      args: ['-D', data, '-p', String(port), '-h', '127.0.0.1', ...argumentsOf(settings)],
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
    kill: () => killWithChildren(child),
    restart: async () => {
      // A session that is busy outlives its server, and no other one begins while it is there.
      await killWithChildren(child)
      child = await start()
    },
    stop: async () => {
      // SIGTERM would wait for the clients to leave; SIGINT ends their sessions.
      child.signal('SIGINT')
      await child.exited
    },
  }
}

const argumentsOf = (settings: readonly string[]): readonly string[] =>
  ['unix_socket_directories=', 'fsync=off', 'full_page_writes=off', ...settings].flatMap((setting) => ['-c', setting])

/** Makes a data folder, whose user `muster` has the password. */
export const initialise = async (
  programs: string,
  folder: string,
  data: string,
  password: string,
  account: Account | undefined,
): Promise<void> => {
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  await giveTo(account, passwordFile)
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

/** Whom the server has to run as. */
export const serverAccount = async (): Promise<Account | undefined> =>
  process.getuid?.() === 0 ? accountOf('postgres') : undefined

export const giveTo = async (account: Account | undefined, path: string): Promise<void> => {
  if (account !== undefined) await chown(path, account.uid, account.gid)
}

const accountOf = async (name: string): Promise<Account> => {
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (flag) => Number((await run('id', [flag, name])).stdout)))
  return { uid: uid as number, gid: gid as number }
}
