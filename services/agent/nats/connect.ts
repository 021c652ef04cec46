/** The agent's connection to NATS: it comes and goes, and what runs on the device does not mind. */

import { type Authenticator, AuthorizationError, connect, type NatsConnection } from '@nats-io/transport-node'
import { inboxOf } from '#apis/fleet.nationtech.io/kv/device-consumer.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { reconnectAfter } from '#lib/nats/reconnect.ts'
import { tlsOptions } from '#lib/nats/security.ts'
import { hideCredentials } from '#lib/nats/url.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { AGENT_ERRORS } from '../errors.ts'

export interface ConnectOptions {
  /** `nats://…` or `tls://…`; several, separated by commas, are servers of one cluster. */
  readonly url: string
  readonly device: string
  readonly authenticator: Authenticator | undefined
  /** A file with the certificates of the authorities that the server's is of, PEM; those of the machine when undefined. */
  readonly ca?: string | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** NATS is there and does not let this device in. */
export class RefusedError extends errorOf(AGENT_ERRORS, 'RefusedError') {}

const RETRY_DELAY_MS = 1_000

/**
 * The first connection, however long it takes. Later breaks are repaired by themselves.
 * @throws RefusedError, and the signal's reason when it aborts first
 */
export const connectAgent = async (options: ConnectOptions, signal: AbortSignal): Promise<NatsConnection> => {
  const { url, device, authenticator, ca, clock, log } = options
  const nats = hideCredentials(url)
  let refusals = 0
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted()
    try {
      return await connect({
        servers: url.split(','),
        name: `muster-agent/${device}`,
        inboxPrefix: inboxOf(device),
        maxReconnectAttempts: -1,
        ...reconnectAfter(RETRY_DELAY_MS),
        // Users come and go with a server's configuration: an agent that is let in again goes on.
        ignoreAuthErrorAbort: true,
        ...tlsOptions(url, ca),
        ...(authenticator !== undefined && { authenticator }),
      })
    } catch (error) {
      refusals = error instanceof AuthorizationError && !isLate(error) ? refusals + 1 : 0
      if (refusals === MAX_REFUSALS)
        throw new RefusedError(`NATS at ${nats} does not let the device ${device} in: check --nats-credentials`, {
          cause: error,
        })
      if (refusals > 0) log.warn('NATS refuses the device, the agent tries again in a second', { nats })
      else if (tries === 1)
        log.warn('NATS does not answer: what runs goes on, the agent connects again in a second', {
          nats,
          problem: messageOf(error),
        })
      await clock.sleep(RETRY_DELAY_MS, signal)
    }
  }
}

/**
 * A server that reads its configuration again, as at each new device, refuses clients that have not shown a key yet: one refusal says nothing
 * of ours.
 */
const MAX_REFUSALS = 3

/** A server that many devices reach at once, or a slow network: the server did not hear the key in time, and refused none. */
const isLate = ({ message }: AuthorizationError): boolean => /authentication timeout/i.test(message)

/** Tells of breaks until the connection is closed. */
export const logStatus = async (connection: NatsConnection, log: Logger, onBack: () => void): Promise<void> => {
  for await (const status of connection.status()) {
    if (status.type === 'disconnect') log.warn('NATS is away: what runs goes on')
    if (status.type === 'error') log.warn('NATS refused a request of the agent', { problem: status.error.message })
    if (status.type === 'reconnect') {
      log.info('NATS is back')
      onBack()
    }
  }
}
