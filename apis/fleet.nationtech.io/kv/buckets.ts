/** The buckets as data, and what to do about one that exists with other settings. FLEET-18, FLEET-90. Pure. */
import { MAX_VALUE_BYTES } from './payload.ts'

/** A bucket of JetStream KV; times in milliseconds, sizes in bytes. */
export interface BucketSettings {
  readonly name: string
  /** Values kept per key. */
  readonly history: number
  /** After which a key that was not written again is gone; 0 is never. */
  readonly ttl: number
  readonly maxValueSize: number
  /** Of all its values; what goes beyond is refused. -1 is no limit. */
  readonly maxBytes: number
  readonly storage: 'file' | 'memory'
}

/** Later than two beats of 30 s that are lost. FLEET-15. */
const HEARTBEAT_TTL = 90_000

const MIB = 2 ** 20

/** @param maxMib Room for ten thousand devices with ten Deployments each; larger fleets raise it: docs/sizing.md. */
const bucket = (
  name: string,
  maxValueSize: number,
  maxMib: number,
  more: Partial<BucketSettings> = {},
): BucketSettings => ({
  name,
  history: 1,
  ttl: 0,
  maxValueSize,
  maxBytes: maxMib * MIB,
  storage: 'file',
  ...more,
})

/**
 * Everything that the fleet keeps in NATS. Each bucket has room of its own, so that what devices write takes none from what they are
 * to run, nor from the events of the HyperFleet API.
 */
export const BUCKETS = {
  desired: bucket('fleet-desired', MAX_VALUE_BYTES.desired, 256),
  state: bucket('fleet-state', MAX_VALUE_BYTES.state, 64),
  info: bucket('fleet-info', MAX_VALUE_BYTES.info, 64),
  heartbeat: bucket('fleet-heartbeat', MAX_VALUE_BYTES.heartbeat, 16, { ttl: HEARTBEAT_TTL }),
} as const

/** A bucket as it is found. */
export interface FoundBucket extends BucketSettings {
  /** Of all that is in it. */
  readonly usedBytes: number
}

export type BucketVerdict =
  | { readonly verdict: 'Fine' }
  /** The stream is to be updated to these settings; nothing that is stored is lost by it. */
  | { readonly verdict: 'Migrate'; readonly settings: BucketSettings; readonly changes: readonly string[] }
  /** It can't be had without losing something: a person must decide. */
  | { readonly verdict: 'Refuse'; readonly reason: string }

const CHANGEABLE = ['history', 'ttl', 'maxValueSize', 'maxBytes'] as const

const setting = (field: (typeof CHANGEABLE)[number], value: number): string => {
  const none = { history: 'none', ttl: 'never', maxValueSize: 'no limit', maxBytes: 'no limit' }
  return value <= 0 ? none[field] : String(value)
}

/** A limit where 0 and -1 mean that there is none. */
const limit = (value: number): number => (value <= 0 ? Number.POSITIVE_INFINITY : value)

/**
 * What a change would throw away; undefined when nothing. A lower limit of values is none of it: NATS keeps what is stored.
 * Heartbeats are sent again in any case.
 */
const loss = (desired: BucketSettings, found: BucketSettings): string | undefined => {
  if (desired.history < found.history)
    return `it keeps ${found.history} values a key and should keep ${desired.history}, so older values would be lost`
  if (limit(desired.ttl) < limit(found.ttl) && desired.name !== BUCKETS.heartbeat.name)
    return `its keys live ${found.ttl <= 0 ? 'for ever' : `${found.ttl} ms`} and should live ${desired.ttl} ms, so keys would be lost`
  return undefined
}

/** A bucket without a limit gets one, above what it holds. Another limit is its administrator's, whatever it is. FLEET-90. */
const chooseMaxBytes = (desired: BucketSettings, found: FoundBucket): number =>
  found.maxBytes > 0 ? found.maxBytes : Math.max(desired.maxBytes, 2 * found.usedBytes)

/** What to do about a bucket that is there. */
export const compareBucket = (settings: BucketSettings, found: FoundBucket): BucketVerdict => {
  const desired = { ...settings, maxBytes: chooseMaxBytes(settings, found) }
  const { name } = desired
  if (found.storage !== desired.storage) {
    const reason = `the bucket ${name} is in ${found.storage} and must be in ${desired.storage}; NATS can't move it: copy its keys, delete it, start again`
    return { verdict: 'Refuse', reason }
  }
  const lost = loss(desired, found)
  if (lost !== undefined)
    return {
      verdict: 'Refuse',
      reason: `the bucket ${name} was changed: ${lost}; set it back with "nats kv edit", or delete the bucket and start again`,
    }
  const changes = CHANGEABLE.filter(
    (field) => found[field] !== desired[field] && !bothUnlimited(field, desired, found),
  ).map((field) => `${field}: ${setting(field, found[field])} → ${setting(field, desired[field])}`)
  return changes.length === 0 ? { verdict: 'Fine' } : { verdict: 'Migrate', settings: desired, changes }
}

const bothUnlimited = (field: (typeof CHANGEABLE)[number], desired: BucketSettings, found: BucketSettings): boolean =>
  field !== 'history' && desired[field] <= 0 && found[field] <= 0
