import { hash } from '../sharding/rendezvous.ts'

/** Of a grown wait, at most so much is taken off at random, so that resources which failed together are not pulsed together. */
const JITTER = 0.2
/** Beyond, every wait is the longest anyway. */
const MAX_DOUBLINGS = 30

/**
 * How long a resource that is not ready waits, in milliseconds: `backoffNotReady`, doubled for each pulse in a row that no
 * report followed, up to `backoffNotReadyMax` (SENTINEL-37). It is never shorter than `backoffNotReady`.
 * @param fruitless how many pulses no report followed
 * @param spread in [0, 1): which part of the jitter is this resource's
 */
export const growBackoff = (
  { notReady, notReadyMax = notReady }: { readonly notReady: number; readonly notReadyMax?: number },
  fruitless: number,
  spread: number,
): number => {
  if (fruitless === 0 || notReadyMax <= notReady) return notReady
  const grown = Math.min(notReadyMax, notReady * 2 ** Math.min(fruitless, MAX_DOUBLINGS))
  return Math.max(notReady, grown * (1 - JITTER * spread))
}

/** A number in [0, 1) that is a resource's own at each of its pulses, and the same when it is asked again. */
export const spreadOf = (id: string, fruitless: number): number => (hash(`${id}/${fruitless}`) >>> 0) / 2 ** 32
