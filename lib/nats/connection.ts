/** A connection to a NATS server that the fleet can use. It does not come back by itself: its caller opens another. */
import { JetStreamApiError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import {
  type Authenticator,
  AuthorizationError,
  connect,
  type NatsConnection,
  PermissionViolationError,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node'
import { messageOf } from '#lib/errors/message-of.ts'
import { NatsProblem } from '#lib/nats/problem.ts'
import { readCredentials, tlsOptions } from '#lib/nats/security.ts'
import { isServerTooOld, MIN_SERVER_VERSION } from '#lib/nats/server-version.ts'
import { hideCredentials } from '#lib/nats/url.ts'

export interface NatsAccess {
  /** `nats://…` or `tls://…`; several, separated by commas, are servers of one cluster. */
  readonly url: string
  /** A file with a user’s credentials (`.creds`), or with the seed of its key alone. Read for every connection. */
  readonly credentials?: string | undefined
  /** A file with the certificates of the authorities that the server's is of, PEM; those of the machine when undefined. */
  readonly ca?: string | undefined
  /** What the server shows in its list of connections. */
  readonly name: string
}

export interface Connected {
  readonly connection: NatsConnection
  readonly manager: JetStreamManager
}

/** Milliseconds; two that stay without an answer end the connection. */
const PING_INTERVAL_MS = 5_000

/** @throws NatsProblem (Unreachable, Refused, TooOld, NoJetStream) */
export const openConnection = async (access: NatsAccess): Promise<Connected> => {
  const place = hideCredentials(access.url)
  const authenticator = await authenticatorOf(access)
  const connection = await connect({
    servers: access.url.split(','),
    name: access.name,
    reconnect: false,
    pingInterval: PING_INTERVAL_MS,
    ...tlsOptions(access.url, access.ca),
    ...(authenticator !== undefined && { authenticator }),
  }).catch((error: unknown) => {
    throw connectProblem(place, error)
  })
  try {
    refuseOldServer(place, connection.info?.version ?? '0')
    return { connection, manager: await managerOf(place, connection) }
  } catch (error) {
    await connection.close()
    throw error
  }
}

const authenticatorOf = ({ credentials }: NatsAccess): Promise<Authenticator | undefined> =>
  readCredentials(credentials).catch((error: unknown) => {
    throw new NatsProblem('Refused', `the credentials ${credentials} can't be read: ${messageOf(error)}`, {
      cause: error,
    })
  })

const connectProblem = (place: string, error: unknown): NatsProblem =>
  error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError
    ? new NatsProblem('Refused', `NATS at ${place} refuses the user: correct its credentials`, { cause: error })
    : new NatsProblem('Unreachable', `NATS at ${place} does not answer: ${messageOf(error)}`, { cause: error })

const refuseOldServer = (place: string, version: string): void => {
  if (isServerTooOld(version))
    throw new NatsProblem('TooOld', `NATS at ${place} is ${version}: run ${MIN_SERVER_VERSION} or newer`)
}

const managerOf = (place: string, connection: NatsConnection): Promise<JetStreamManager> =>
  jetstreamManager(connection).catch((error: unknown) => {
    throw new NatsProblem('NoJetStream', `NATS at ${place} runs without JetStream: start it with -js`, { cause: error })
  })

/** What a failed request means, as a sentence for those who run the fleet. */
export const toNatsProblem = (what: string, error: unknown): NatsProblem => {
  if (error instanceof NatsProblem) return error
  if (error instanceof PermissionViolationError)
    return new NatsProblem('Refused', `NATS does not let us ${what}: ${error.message}`, { cause: error })
  if (error instanceof JetStreamApiError)
    return new NatsProblem('NoJetStream', `NATS can't ${what}: ${error.message}`, { cause: error })
  return new NatsProblem('Unreachable', `NATS did not ${what}: ${messageOf(error)}`, { cause: error })
}
