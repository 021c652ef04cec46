import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { findPostgres } from '#hack/postgres/find.ts'
import { postgresMissing } from '#hack/postgres/missing.ts'
import {
  giveTo,
  type Instance,
  initialise,
  type Postgres,
  runPostgres,
  serverAccount,
} from '#hack/postgres/postgres.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type TcpProxy, tcpProxy } from './tcp-proxy.ts'

const run = promisify(execFile)

/** A PostgreSQL that writes and a hot standby that follows it, behind one address. */
export interface PostgresPair extends AsyncDisposable {
  /** Through the proxy, which stands for the address that a failover moves. */
  readonly url: string
  readonly proxy: TcpProxy
  /** What writes now. */
  primaryUrl(): string
  /** The standby has all that is committed by now, and gets nothing any more: what is committed from now on is lost by a crash. */
  detach(): Promise<void>
  /** The standby gets everything and shows nothing of it from now on, until it is promoted. */
  pauseReplay(): Promise<void>
  /**
   * SIGKILL to what writes. The address leads to the standby from now on, which takes no writes yet. Connections are broken,
   * or hear nothing any more.
   */
  crash(connections?: 'broken' | 'silent'): Promise<void>
  /** The standby is promoted. Resolves when it takes writes. */
  promote(): Promise<void>
  /** What was killed follows what writes, as a new standby: the next failover goes in the other direction. */
  rebuild(): Promise<void>
}

/**
 * @param commit `synchronous`: a commit is answered once the standby has it. `asynchronous`: it can get lost.
 */
export const startPostgresPair = async (commit: 'synchronous' | 'asynchronous'): Promise<PostgresPair> => {
  const programs = findPostgres()
  if (programs === undefined) throw new Error(postgresMissing())
  const account = await serverAccount()
  const folder = await temporaryFolder('postgres-pair')
  await giveTo(account, folder)
  const password = randomBytes(12).toString('hex')
  let nodes = 0
  const nextInstance = async (): Promise<Instance> => {
    nodes += 1
    const own = join(folder, `node-${nodes}`)
    await mkdir(own, { mode: 0o700 })
    await giveTo(account, own)
    return { programs, folder: own, data: join(own, 'data'), password, account, settings: ['wal_level=replica'] }
  }
  /** A standby of what runs there, once all commits wait for it. */
  const follow = async (primary: Postgres): Promise<Postgres> => {
    const instance = await nextInstance()
    const copy = ['-d', primary.url, '-D', instance.data, '--wal-method=stream', '--checkpoint=fast', '--no-sync', '-R']
    await run(join(programs, 'pg_basebackup'), copy, { cwd: instance.folder, ...account })
    const standby = await runPostgres(instance)
    await until(async () => (await query(primary.url, 'select 1 from pg_stat_replication')).length === 1)
    if (commit === 'synchronous') await setting(primary.url, 'synchronous_standby_names', '*')
    return standby
  }

  const first = await nextInstance()
  await initialise(programs, first.folder, first.data, password, account)
  let primary = await runPostgres(first)
  let standby: Postgres | undefined = await follow(primary)
  const proxy = await tcpProxy(primary.url)
  let isDetached = false
  const running = new Set([primary, standby])
  const follower = (): Postgres => {
    if (standby === undefined) throw new Error('there is no standby: rebuild the one that was killed')
    return standby
  }

  return {
    url: proxy.url,
    proxy,
    primaryUrl: () => primary.url,
    detach: async () => {
      const [{ lsn } = { lsn: '' }] = (await query(primary.url, 'select pg_current_wal_lsn() as lsn')) as {
        lsn: string
      }[]
      const behind = `select 1 from pg_stat_replication where flush_lsn < '${lsn}'`
      await until(async () => (await query(primary.url, behind)).length === 0)
      await follower().kill()
      isDetached = true
    },
    pauseReplay: async () => {
      await query(follower().url, 'select pg_wal_replay_pause()')
      await until(async () => {
        const [row] = (await query(follower().url, 'select pg_get_wal_replay_pause_state() as state')) as {
          state: string
        }[]
        return row?.state === 'paused'
      })
    },
    crash: async (connections = 'broken') => {
      if (connections === 'silent') proxy.strand()
      const killed = primary
      primary = follower()
      standby = undefined
      await killed.kill()
      running.delete(killed)
      if (isDetached) await primary.restart()
      isDetached = false
      proxy.redirect(primary.url)
      proxy.cut()
    },
    promote: async () => {
      // As every manager of failovers does it: there is no standby yet that commits could wait for.
      await setting(primary.url, 'synchronous_standby_names', '')
      await query(primary.url, 'select pg_promote()')
    },
    rebuild: async () => {
      standby = await follow(primary)
      running.add(standby)
    },
    [Symbol.asyncDispose]: async () => {
      await proxy.stop()
      await Promise.all([...running].map((server) => server.kill()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const query = async (url: string, sql: string): Promise<unknown[]> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const setting = async (url: string, name: string, value: string): Promise<void> => {
  await query(url, `alter system set ${name} = '${value}'`)
  await query(url, 'select pg_reload_conf()')
}

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await delay(50)
}
