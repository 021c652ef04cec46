import type { Logger } from '#operator/model/log.ts'
import type { Tenancy } from '../auth/tenancy.ts'
import type { WakeTopic } from '../feed/wakeup.ts'
import type { Entities } from '../model/entity.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { SpecSchemas } from '../specs/schemas.ts'
import type { Database } from '../storage/database.ts'

/** What every mutation needs. */
export interface MutationContext {
  readonly database: Database
  readonly entities: Entities
  readonly specs: SpecSchemas
  readonly newId: () => string
  readonly now: () => Date
  /** Called after a commit: there are changes (the default) or events to hand out. */
  readonly notifyCommitted: (topic?: WakeTopic) => void
  /** For what fails after a request was done. */
  readonly log: Pick<Logger, 'warn'>
}

/** The caller and the time: stamped on what is written. */
export interface Caller {
  readonly identity: string
  /** The tenant of what is made; none when undefined. */
  readonly tenancy?: Tenancy | undefined
  readonly time: Timestamp
}

/** Looks at what is stored, under its lock, and throws what the request is refused with. */
export type Precondition<Stored> = (stored: Stored) => void
