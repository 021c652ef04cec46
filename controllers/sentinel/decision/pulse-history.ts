/**
 * What an earlier Sentinel already pulsed, worked out from the resource alone, so that neither a restart nor a hand-over is a storm.
 * docs/decisions/sentinel-restart.md says why this is enough (SENTINEL-16).
 */
import { type Backoff, NEVER_PULSED, type PulseHistory } from './decide.ts'
import { readReadiness } from './readiness.ts'
import type { ResourceBody } from './resource.ts'

/**
 * Clocks of the API and of Sentinels may differ by this much, in milliseconds. It only matters where no adapter reports: with
 * adapters, what is missed is not ready and pulsed within seconds; without, a pulse too many is better than one in half an hour.
 */
const CLOCK_SKEW_MS = 30_000

/**
 * Judges a resource that this process meets for the first time.
 *
 * @param watchedUntil until when an earlier Sentinel watched this shard (ms since the epoch); undefined when none did, or when
 *   the resource was not there at the first look
 */
export const inferPulseHistory = (
  body: ResourceBody,
  watchedUntil: number | undefined,
  backoff: Backoff,
): PulseHistory => {
  const { ready, reference, reported, observedGeneration } = readReadiness(body)
  if (watchedUntil === undefined) {
    if (!reported) return NEVER_PULSED
    return {
      generation: observedGeneration ?? body.generation,
      deleting: body.deletedAt !== undefined,
      pulsedAt: undefined,
    }
  }
  const slack = observedGeneration === undefined ? CLOCK_SKEW_MS : 0
  const missed = (moment: number) => moment > watchedUntil - slack
  if (!reported && missed(body.createdAt)) return NEVER_PULSED
  const seenGeneration = missed(body.changedAt) ? body.generation - 1 : body.generation
  return {
    generation: observedGeneration ?? seenGeneration,
    deleting: body.deletedAt !== undefined && !missed(body.deletedAt),
    pulsedAt: lastPeriodicPulse(reference, ready ? backoff.ready : backoff.notReady, watchedUntil),
  }
}

/** Without reports a resource is pulsed at reference + backoff, + 2 backoffs, …: the last of these beats that was watched. */
const lastPeriodicPulse = (reference: number, backoff: number, watchedUntil: number): number | undefined => {
  const pulses = Math.floor((watchedUntil - reference) / backoff)
  return pulses >= 1 ? reference + pulses * backoff : undefined
}
