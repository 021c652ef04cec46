/** Clocks of machines that are wrong, and are set while controllers work. */
import { ALL_WORK, type Fault } from './fault.ts'

const HOUR_MS = 3_600_000

/**
 * Every manager's clock jumps, and back again in the end. The API server, the HyperFleet API and NATS know the time, and adapters go by
 * that of the HyperFleet API (ADAPTER-111).
 */
const clocksOff = (milliseconds: number): Fault => ({
  begin: async ({ suite }) => {
    await suite.skewClocks(milliseconds)
    return { [Symbol.asyncDispose]: () => suite.skewClocks(0) }
  },
  meanwhile: ALL_WORK,
})

export const clocksAhead = clocksOff(HOUR_MS)
export const clocksBehind = clocksOff(-HOUR_MS)
