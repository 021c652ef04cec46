import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Clause } from './compile-test.ts'

/** One kind, or several. */
export type Kinds = string | readonly string[]

/** Of one kind an index gives a list in its order; several are sorted. */
export const isOfKind = (column: RawBuilder<unknown>, kind: Kinds): Clause =>
  typeof kind === 'string' ? sql<SqlBool>`${column} = ${kind}` : sql<SqlBool>`${column} in (${sql.join(kind)})`
