import type pg from 'pg'

/** The name that takeovers connect under. */
export const TAKEOVER_NAME = 'muster-migrate'

/** A session of a database. */
export interface Session {
  /** `application_name`; may be empty. */
  readonly name: string
  readonly user: string
  /** Undefined on the machine of the database. */
  readonly address: string | undefined
}

/** Sessions of the same database, without this one and those of other takeovers. */
export const otherSessions = async (client: pg.Client): Promise<readonly Session[]> => {
  const { rows } = await client.query<{ name: string; user: string; address: string | null }>(
    `select coalesce(application_name, '') as name, usename::text as user, host(client_addr) as address
     from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
       and backend_type = 'client backend' and application_name is distinct from $1`,
    [TAKEOVER_NAME],
  )
  return rows.map(({ name, user, address }) => ({ name, user, address: address ?? undefined }))
}

/** Programs and where they connect from, each once. */
export const formatSessions = (sessions: readonly Session[]): string =>
  [
    ...new Set(
      sessions.map(
        ({ name, user, address = 'its own machine' }) =>
          `${name === '' ? 'a program' : name} as ${user} from ${address}`,
      ),
    ),
  ].join('; ')
