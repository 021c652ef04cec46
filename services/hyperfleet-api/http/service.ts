import type { Clock } from '#operator/model/clock.ts'
import type { VersionSeal } from '../auth/version-seal.ts'
import type { EventQueue } from '../events/queue.ts'
import type { Feed } from '../feed/feed.ts'
import type { Wakeup } from '../feed/wakeup.ts'
import type { HeldBytes } from '../metrics/stream-metrics.ts'
import type { MutationContext } from '../mutations/context.ts'
import type { SearchTurns } from '../search/turns.ts'
import type { KnownReporters } from '../storage/known-reporters.ts'
import type { KnownTotals } from '../storage/known-totals.ts'
import type { SharedTime } from '../storage/shared-time.ts'
import type { Tracer } from '../tracing/tracer.ts'

/** What the operations work with. */
export interface Service extends MutationContext, HeldBytes {
  readonly feed: Feed
  readonly queue: EventQueue
  readonly wakeup: Wakeup
  readonly totals: KnownTotals
  readonly versions: VersionSeal
  readonly reporters: KnownReporters
  readonly searchTurns: SearchTurns
  readonly clock: Clock
  readonly sharedTime: SharedTime
  readonly tracer: Tracer
  /** Aborted when the server stops: streams and long polls end. */
  readonly stopping: AbortSignal
}
