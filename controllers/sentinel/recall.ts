/**
 * What an earlier Sentinel already pulsed, worked out from the resource alone, so that neither a restart nor a hand-over is a storm.
 * docs/decisions/sentinel-restart.md says why this is enough.
 */
import { type Backoff, NEVER_SEEN, type Seen } from './decision.ts'
import { readinessOf } from './readiness.ts'
import type { ResourceBody } from './resource.ts'

/**
 * Clocks of the API and of Sentinels may differ by this much, in milliseconds. It only matters where nobody reports: with
 * adapters, what is missed is not ready and pulsed within seconds; without, a pulse too many is better than one in half an hour.
 */
const CLOCK_SKEW = 30_000

/**
 * Judges a resource that this process meets for the first time.
 *
 * @param covered until when an earlier Sentinel watched this shard (ms since the epoch); undefined when none did, or when
 *   the resource was not there at the first look
 */
export const recall = (body: ResourceBody, covered: number | undefined, backoff: Backoff): Seen => {
  const { ready, reference, reported, observedGeneration } = readinessOf(body)
  if (covered === undefined) {
    if (!reported) return NEVER_SEEN
    return {
      generation: observedGeneration ?? body.generation,
      deleting: body.deletedAt !== undefined,
      pulsedAt: undefined,
    }
  }
  const slack = observedGeneration === undefined ? CLOCK_SKEW : 0
  const missed = (moment: number) => moment > covered - slack
  if (!reported && missed(body.createdAt)) return NEVER_SEEN
  const seenGeneration = missed(body.changedAt) ? body.generation - 1 : body.generation
  return {
    generation: observedGeneration ?? seenGeneration,
    deleting: body.deletedAt !== undefined && !missed(body.deletedAt),
    pulsedAt: lastBeat(reference, ready ? backoff.ready : backoff.notReady, covered),
  }
}

/** Without reports a resource is pulsed at reference + backoff, + 2 backoffs, …: the last of these beats that was watched. */
const lastBeat = (reference: number, backoff: number, covered: number): number | undefined => {
  const beats = Math.floor((covered - reference) / backoff)
  return beats >= 1 ? reference + beats * backoff : undefined
}
