import { AuthorizationError, connect, type NatsConnection } from '@nats-io/transport-node'
import { listDeadLetters, replayDeadLetter, type StoredDeadLetter } from '#controllers/adapter/events/dead-letters.ts'
import type { NatsAccess } from '#lib/nats/connection.ts'
import { readCredentials, tlsOptions } from '#lib/nats/security.ts'
import { serverOf } from '#lib/nats/url.ts'
import { Failure, LookFailure, UsageError } from '../failure.ts'
import type { DeadLettersOptions } from './command.ts'

/** Lists the dead letters of tasks that take events from NATS, or replays one. @throws LookFailure, Failure, UsageError */
export const runDeadLetters = async ({
  natsUrl,
  natsCredentials,
  natsCa,
  consumer,
  limit,
  replay,
  output,
}: DeadLettersOptions): Promise<void> => {
  if (natsUrl === undefined) throw new UsageError('--nats-url: name the server, such as nats://localhost:4222')
  const connection = await connectTo({ url: natsUrl, credentials: natsCredentials, ca: natsCa })
  try {
    if (replay === undefined) {
      const letters = await listDeadLetters(connection, consumer, limit)
      process.stdout.write(output === 'json' ? `${JSON.stringify(letters, undefined, 2)}\n` : textOf(letters))
    } else {
      if (!(await replayDeadLetter(connection, replay))) throw new Failure(`there is no dead letter ${replay}`)
      process.stdout.write(`replayed ${replay}\n`)
    }
  } finally {
    await connection.close()
  }
}

const connectTo = async ({ url, credentials, ca }: Omit<NatsAccess, 'name'>): Promise<NatsConnection> => {
  try {
    const authenticator = await readCredentials(credentials)
    const how = { ...serverOf(url), ...tlsOptions(url, ca), ...(authenticator !== undefined && { authenticator }) }
    return await connect({ ...how, name: 'muster adapter dead-letters', reconnect: false })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const what = error instanceof AuthorizationError ? 'does not let us in' : 'does not answer'
    // Without the user and the password, which may stand before it.
    throw new LookFailure(`--nats-url: the server ${new URL(url).host} ${what}: ${why}`, { cause: error })
  }
}

const textOf = (letters: readonly StoredDeadLetter[]): string =>
  letters.length === 0
    ? 'no dead letters\n'
    : letters
        .map(({ id, time, consumer, problem, subject, deliveries, replays, text }) => {
          const counts = `${deliveries} deliveries${replays > 0 ? `, ${replays} replays` : ''}`
          return `${id}  ${time}  ${consumer}  ${subject}  ${counts}\n    ${problem}\n    ${text.slice(0, 200)}\n`
        })
        .join('')
