import { checkOrigins, type Origin, type ReplacedOrigin } from '../auth/origins.ts'
import type { Database } from './database.ts'

/**
 * Notes which issuer's callers each prefix tells of, beside what was written with it.
 * @returns prefixes whose issuer gave way to another @throws ConfigError, and then nothing is noted (API-157)
 */
export const recordOrigins = (database: Database, origins: readonly Origin[]): Promise<readonly ReplacedOrigin[]> =>
  database.transaction(async (writer) => {
    // First, so that of two processes which start at once the second one waits, and sees what the first has noted.
    await writer
      .insertInto('issuer_origins')
      .values([...origins])
      .onConflict((conflict) => conflict.column('prefix').doNothing())
      .execute()
    const rows = await writer.selectFrom('issuer_origins').select(['prefix', 'issuer']).execute()
    const replaced = checkOrigins(origins, new Map(rows.map(({ prefix, issuer }) => [prefix, issuer])))
    for (const { prefix, issuer } of replaced)
      await writer.updateTable('issuer_origins').set({ issuer }).where('prefix', '=', prefix).execute()
    return replaced
  })
