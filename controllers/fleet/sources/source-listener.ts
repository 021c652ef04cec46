import type { Feed, SyncEvent } from '../state/sync-state.ts'

/** Is called with what the sources find. */
export interface SourceListener {
  /** How a feed stands has changed. */
  syncChanged(feed: Feed, event: SyncEvent): void
  /** Something is known now that was not known before. */
  changed(): void
}
