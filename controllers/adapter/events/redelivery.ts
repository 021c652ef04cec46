/** How long an event waits that was given back. */
import { exponentialDelay } from '#operator/model/outcome.ts'

/** The longest pause, in milliseconds: with it ten deliveries last half an hour. */
const MAX_REDELIVERY_DELAY_MS = 300_000

/**
 * Twice as long after each delivery, and up to a fifth longer or shorter, so that the events of an API that was away do not all come
 * again at once. ADAPTER-22.
 * @param delayMs of the first time. @param random in [0, 1)
 */
export const redeliveryDelay = (delayMs: number, deliveries: number, random: () => number = Math.random): number =>
  Math.round(
    exponentialDelay({ initial: delayMs, factor: 2, max: MAX_REDELIVERY_DELAY_MS }, deliveries) *
      (0.8 + random() * 0.4),
  )
