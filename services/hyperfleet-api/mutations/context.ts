import type { Tenancy } from '../auth/tenancy.ts'
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
  /** Called after a commit: there are changes or events to hand out. */
  readonly notifyCommitted: () => void
}

/** Who asks, and when: stamped on what is written. */
export interface Caller {
  readonly identity: string
  /** Whose is what is made; nobody's when undefined. */
  readonly tenancy?: Tenancy | undefined
  readonly time: Timestamp
}
