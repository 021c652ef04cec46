/** Clocks of machines that are wrong, and are set while controllers work. */
import { ALL_WORK, type Fault, object } from './fault.ts'

const HOUR_MS = 3_600_000

/**
 * Every manager's clock jumps, and back again in the end. The API server, the HyperFleet API and NATS know the time. Reports of adapters
 * are ordered by when they looked, so the HyperFleet API takes none of such a time (API-6): a cluster that is new is not installed meanwhile.
 */
const clocksOff = (milliseconds: number, refusal: RegExp): Fault => ({
  begin: async ({ suite }) => {
    await suite.skewClocks(milliseconds)
    return { [Symbol.asyncDispose]: () => suite.skewClocks(0) }
  },
  meanwhile: {
    ...ALL_WORK,
    adapter: { says: refusal, where: object('adaptertasks', '-A') },
    clusterpool: 'may wait',
    clusterclaim: 'may wait',
    clusterdevice: 'may wait',
  },
})

export const clocksAhead = clocksOff(HOUR_MS, /observed_time must not be more than 5 minutes in the future/)
export const clocksBehind = clocksOff(-HOUR_MS, /observed_time must not be more than 30 minutes old/)
