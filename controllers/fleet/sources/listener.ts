import type { Feed, LatchEvent } from '../state/latch.ts'

/** Who is told what the sources find. */
export interface SourceListener {
  /** How a feed stands has changed. */
  latch(feed: Feed, event: LatchEvent): void
  /** Something is known now that was not known before. */
  changed(): void
}
