/** Limits of JetStream that a request met, nats-server: server/errors.json. Pure. */
import { JetStreamApiError } from '@nats-io/jetstream'

const INSUFFICIENT_RESOURCES = 10_023
const STORE_FAILED = 10_077
const STORAGE_RESOURCES_EXCEEDED = 10_047

/** The stream, or its account or server, takes no more; what replaces a value of at least its size still goes in. */
export const isFull = (error: unknown): boolean =>
  error instanceof JetStreamApiError &&
  (error.code === INSUFFICIENT_RESOURCES ||
    (error.code === STORE_FAILED && /^maximum (bytes|messages)/.test(error.message)))

/** The server, or the account, can't keep as much room for a stream as its limit says. */
export const isWithoutRoom = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code === STORAGE_RESOURCES_EXCEEDED
