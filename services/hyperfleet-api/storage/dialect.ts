import type { Kysely, Transaction } from 'kysely'
import type { Tables } from './schema.ts'

export type DialectName = 'postgres' | 'sqlite'

export type Reader = Kysely<Tables>
export type Writer = Transaction<Tables>
