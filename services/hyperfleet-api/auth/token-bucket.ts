/** How fast one caller may go. */
export interface RateLimitSettings {
  /** Requests a second, lasting. */
  readonly rate: number
  /** Requests at once after a rest. */
  readonly burst: number
}

interface Bucket {
  readonly tokens: number
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** More than sums of shares of a token are rounded by, or a caller that waited as long as it was told would have to wait again. */
const ROUNDING = 1e-9

/** Takes one token, or says how many milliseconds are left until there is one. */
const takeToken = (
  bucket: Bucket | undefined,
  { rate, burst }: RateLimitSettings,
  now: number,
): { readonly bucket: Bucket; readonly wait: number } => {
  // A clock that was put back fills no bucket, and none again when it gets there a second time.
  const at = Math.max(now, bucket?.at ?? now)
  const refilled = bucket === undefined ? burst : bucket.tokens + ((at - bucket.at) / 1000) * rate
  const tokens = Math.min(burst, refilled)
  return tokens >= 1 - ROUNDING
    ? { bucket: { tokens: tokens - 1, at }, wait: 0 }
    : { bucket: { tokens, at }, wait: Math.ceil(((1 - tokens) / rate) * 1000) }
}

/** Token buckets by name. */
export interface RateLimiter {
  /** @returns 0, or milliseconds to wait */
  take(name: string, now: Date): number
}

/** So many names are remembered before those that are at rest are forgotten. */
const MAX_BUCKETS = 10_000

export const createRateLimiter = (settings: RateLimitSettings): RateLimiter => {
  const buckets = new Map<string, Bucket>()
  /** One that has rested until it is full is as good as new. */
  const deleteFull = (now: number) => {
    const full = (settings.burst / settings.rate) * 1000
    for (const [name, { at }] of buckets) if (now - at >= full) buckets.delete(name)
  }
  return {
    take: (name, now) => {
      const time = now.getTime()
      if (buckets.size >= MAX_BUCKETS && !buckets.has(name)) deleteFull(time)
      const { bucket, wait } = takeToken(buckets.get(name), settings, time)
      buckets.set(name, bucket)
      return wait
    },
  }
}
