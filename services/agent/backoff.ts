/** How long to wait before something that failed is tried again. Pure; milliseconds. */
import { type Growth, grownDelay } from '#operator/model/outcome.ts'

const PAUSE: Growth = { initial: 1_000, factor: 2, max: 60_000 }

/** @param failures In a row, from 1 on: 1 s, 2 s, 4 s … 60 s. */
export const backoff = (failures: number): number => grownDelay(PAUSE, failures)
