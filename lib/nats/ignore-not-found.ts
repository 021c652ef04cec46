import { JetStreamApiError } from '@nats-io/jetstream'

/** For `catch`: what the server has not is undefined. @throws every other error */
export const ignoreNotFound = (error: unknown): undefined => {
  if (error instanceof JetStreamApiError && error.status === 404) return undefined
  throw error
}
