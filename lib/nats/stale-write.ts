import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream'

/** NATS refused a compare-and-set: the key has another revision than the write expected. */
export const isStaleWrite = (error: unknown): boolean =>
  error instanceof JetStreamApiError &&
  (error.code === JetStreamApiCodes.StreamWrongLastSequence ||
    error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown)
