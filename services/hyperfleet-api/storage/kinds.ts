import type { Clause } from './compile-test.ts'
import { type SqlText, sql } from './sql-text.ts'

/** One kind, or several. */
export type Kinds = string | readonly string[]

/** Of one kind an index gives a list in its order; several are sorted. */
export const isOfKind = (column: SqlText, kind: Kinds): Clause =>
  typeof kind === 'string' ? sql`${column} = ${kind}` : sql`${column} in (${sql.join(kind)})`
