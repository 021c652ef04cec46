import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream'

/** NATS refused a compare-and-set: the key has another revision than the write expected. */
export const isStaleWrite = (error: unknown): boolean =>
  error instanceof JetStreamApiError &&
  (error.code === JetStreamApiCodes.StreamWrongLastSequence ||
    error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown)

/** The revision that the key has, as nats-server names it; undefined when it does not. `error` is one of a stale write. */
export const presentRevision = (error: unknown): number | undefined => {
  const found = error instanceof Error ? /wrong last sequence: (\d+)/.exec(error.message)?.[1] : undefined
  return found === undefined ? undefined : Number(found)
}
