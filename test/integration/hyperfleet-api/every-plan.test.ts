/** What each statement costs that the API sends to its database, however much is stored: API-192 to API-194. */
import { beforeAll, describe, expect, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { postgresMissing } from '#test/harness/index.ts'
import { askAll, fill, type Heard, START } from './plans/ask-all.ts'
import { type ExecutedStatement, hearPlans, readsOf, rowsOf } from './plans/heard-plans.ts'
import { hearTexts } from './plans/heard-texts.ts'
import { watchPlaces } from './plans/places.ts'
import type { Growth } from './plans/step.ts'
import { UNASKED } from './plans/unasked.ts'
import { freshPostgres, temporaryData } from './support.ts'

/** Rows that a statement may read beside those that it returns or writes. */
const CONSTANT = 100
/** The most that a statement returns of what there is: what is longer is taken in portions of 200. */
const PORTION = 200

/** Which tables a statement read too much of. */
const excessOf = (statement: ExecutedStatement, growth?: Growth): string[] => {
  const most = Math.max(growth?.rows ?? 0, Math.min(rowsOf(statement), PORTION)) + CONSTANT
  return [...readsOf(statement)]
    .filter(([, rows]) => rows > most)
    .map(([table, rows]) => `${rows} rows of ${table}, where ${most} are enough`)
}

describe.skipIf(findPostgres() === undefined)(
  `on PostgreSQL${findPostgres() ? '' : ` (skipped: ${postgresMissing()})`}`,
  () => {
    let heard: readonly Heard<ExecutedStatement>[] = []
    let missed: readonly string[] = []
    beforeAll(async () => {
      const { databaseUrl } = await freshPostgres()
      await fill({ databaseUrl })
      const plans = await hearPlans(databaseUrl)
      const places = await watchPlaces()
      const database = await openDatabase({ databaseUrl, onError: () => {} })
      try {
        heard = await askAll({ databaseUrl }, plans.take, database)
      } finally {
        await database.close()
        plans.stop()
        missed = await places.stop()
      }
    }, 240_000)

    test('API-192: no statement reads more than it returns and a constant, or than it is said to grow with', () => {
      const excess = heard.flatMap(({ what, growth, statements }) =>
        statements.flatMap((statement) =>
          excessOf(statement, growth).map((tables) => `${what}: ${tables}: ${statement.text.slice(0, 600)}`),
        ),
      )
      expect([...new Set(excess)]).toEqual([])
    })

    test('API-192: what is said to grow does grow', () => {
      const said = heard.filter(({ growth }) => growth !== undefined && growth !== START)
      const bounded = said.filter(({ statements }) => statements.every((statement) => excessOf(statement).length === 0))
      expect(bounded.map(({ what }) => what)).toEqual([])
    })

    test('API-193: every place of the source that writes a statement was asked', () => {
      const named = Object.keys(UNASKED)
      expect(missed.filter((place) => !named.some((beginning) => place.startsWith(beginning)))).toEqual([])
    })
  },
)

/** Tables that do not grow with what is stored, results of their own, JSON, which nothing indexes, and indexes of what is in deletion alone. */
const SMALL =
  /^SCAN (\(|CONSTANT ROW|SUBQUERY|page|change_floor|change_gaps|history|next|measured|sized|neighbours|sqlite_sequence|\d+-ROW VALUES CLAUSE|resource_counts|event_consumers|group|consumer|issuer_origins|version_key|migrations|takeovers|json_each|resource_specs|resources USING INDEX resources_(in_deletion|by_awaited_groups))\b/

test('API-194: on SQLite no statement scans a table, but of what it is said to grow with', {
  timeout: 240_000,
}, async () => {
  const { dataDir } = await temporaryData()
  await fill({ dataDir })
  const texts = hearTexts()
  try {
    const heard = await askAll({ dataDir }, texts.take)
    const database = await openDatabase({ dataDir, onError: () => {} })
    const scans = heard
      .filter(({ growth }) => growth === undefined)
      .flatMap(({ what, statements }) =>
        statements.flatMap((text) =>
          texts
            .explain(text)
            .filter((line) => line.startsWith('SCAN ') && !SMALL.test(line))
            .map((line) => `${what}: ${line}: ${text.slice(0, 600)}`),
        ),
      )
    await database.close()
    expect(heard.flatMap(({ statements }) => statements).length).toBeGreaterThan(100)
    expect([...new Set(scans)]).toEqual([])
  } finally {
    texts.stop()
  }
})
