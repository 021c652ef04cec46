import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import type { DuePulse } from '../decision/schedule.ts'
import type { Listing } from '../source/list-pages.ts'
import { newTraceparent, traceIdOf } from '../trace.ts'

export interface PulseContext {
  /** Undefined while the API is not connected. */
  readonly listing: Listing | undefined
  /** What asks for events, for their field `source`. */
  readonly source: string
  readonly clock: Clock
  readonly log: Logger
}

/** Asks the API for the event. SENTINEL-13. @throws HyperFleetError */
export const sendPulse = async (
  { listing, source, clock, log }: PulseContext,
  { id, reason, generation, waitMs }: DuePulse,
  signal: AbortSignal,
): Promise<void> => {
  if (listing === undefined) throw new HyperFleetError('APIUnreachable', 'the API is not connected')
  const { resourceType, dialect, api } = listing
  const traceparent = newTraceparent()
  const next = waitMs === undefined ? {} : { nextTime: new Date(clock.now().getTime() + waitMs).toISOString() }
  const sender = dialect.features.has('events') ? { source, ...next } : {}
  await api.createEvent({ resourceType, resourceId: id, reason, ...sender }, traceparent, signal)
  log.info('sentinel: pulsed', { resourceType, id, reason, generation, traceId: traceIdOf(traceparent) })
}
