/** How long to wait before a retry, in milliseconds. AGENT-9. Pure. */
import { type ExponentialBackoff, exponentialDelay } from '#operator/model/outcome.ts'

const PAUSE: ExponentialBackoff = { initial: 1_000, factor: 2, max: 60_000 }

/** @param failures In a row, from 1 on: 1 s, 2 s, 4 s … 60 s. */
export const retryDelay = (failures: number): number => exponentialDelay(PAUSE, failures)
