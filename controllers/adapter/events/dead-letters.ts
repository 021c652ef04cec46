/**
 * Messages of JetStream that a task can't work on are kept in a stream of their own, with why, until somebody replays them.
 * Seed: a poison message holds nobody up; nothing is lost. Events from the API's queue have its dead letters: docs/api-events.md.
 */
import { JetStreamApiError, jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { headers, type NatsConnection, nanos } from '@nats-io/transport-node'

export const DEAD_STREAM = 'hyperfleet-dead-letters'
const SUBJECT = 'hyperfleet.dead-letters'
/** How long they are kept, in milliseconds. */
const KEEP = 30 * 24 * 3_600_000
/** The newest of each consumer. */
const MOST = 10_000
/** Bytes of a message for its headers. */
const ROOM = 4_096

const PROBLEM = 'Muster-Problem'
const FROM = 'Muster-Subject'
const STREAM = 'Muster-Stream'
const SEQUENCE = 'Muster-Sequence'
const DELIVERIES = 'Muster-Deliveries'
const SHORTENED = 'Muster-Shortened'
/** How often a message was replayed. */
export const REPLAY = 'Muster-Replay'

/** A message that is given up. */
export interface Poison {
  readonly consumer: string
  /** Where it was published, and where it lies. */
  readonly subject: string
  readonly stream: string
  readonly sequence: number
  readonly deliveries: number
  readonly replays: number
  readonly problem: string
  readonly body: Uint8Array
}

/** One that was kept. */
export interface KeptLetter extends Omit<Poison, 'body'> {
  /** By which it is replayed. */
  readonly id: number
  /** RFC 3339, UTC. */
  readonly time: string
  readonly text: string
}

/** Keeps it; once, however often it is asked. @throws Error when it can't be kept */
export const setAside = async (connection: NatsConnection, poison: Poison): Promise<void> => {
  await ensureStream(connection)
  const { consumer, subject, stream, sequence, deliveries, replays, problem, body } = poison
  const room = (connection.info?.max_payload ?? 1024 * 1024) - ROOM
  const told = headers()
  const line = problem.replaceAll(/[\r\n]+/g, ' ').slice(0, 1_000)
  for (const [name, value] of [
    [PROBLEM, line],
    [FROM, subject],
    [STREAM, stream],
    [SEQUENCE, sequence],
    [DELIVERIES, deliveries],
    [REPLAY, replays],
  ] as const)
    told.set(name, String(value))
  if (body.length > room) told.set(SHORTENED, 'true')
  await jetstream(connection).publish(`${SUBJECT}.${consumer}`, body.slice(0, room), {
    headers: told,
    msgID: `${consumer}/${stream}/${sequence}`,
  })
}

/** The oldest first. @param consumer of all consumers when undefined */
export const readLetters = async (
  connection: NatsConnection,
  consumer: string | undefined,
  limit: number,
): Promise<readonly KeptLetter[]> => {
  const { direct, streams } = await jetstreamManager(connection)
  // The stream is made with the first letter; before that nobody would answer.
  if ((await streams.info(DEAD_STREAM).catch(nothing)) === undefined) return []
  const letters: KeptLetter[] = []
  const next_by_subj = `${SUBJECT}.${consumer ?? '*'}`
  for (let seq = 1; letters.length < limit; ) {
    const stored = await direct.getMessage(DEAD_STREAM, { seq, next_by_subj }).catch(nothing)
    if (!stored) break
    const word = (name: string) => stored.header.get(name)
    letters.push({
      id: stored.seq,
      time: stored.time.toISOString(),
      consumer: stored.subject.slice(SUBJECT.length + 1),
      problem: word(PROBLEM),
      subject: word(FROM),
      stream: word(STREAM),
      sequence: Number(word(SEQUENCE)),
      deliveries: Number(word(DELIVERIES)),
      replays: Number(word(REPLAY)),
      text: stored.string(),
    })
    seq = stored.seq + 1
  }
  return letters
}

/**
 * Publishes it again where it came from, for every consumer there, and keeps it no longer. At least once.
 * @returns whether there was one of that id
 * @throws Error when it was too large to be kept as a whole, and is gone from where it lay
 */
export const replayLetter = async (connection: NatsConnection, id: number): Promise<boolean> => {
  const { streams } = await jetstreamManager(connection)
  const stored = await streams.getMessage(DEAD_STREAM, { seq: id }).catch(nothing)
  if (!stored) return false
  const { header } = stored
  let body = stored.data
  if (header.get(SHORTENED) === 'true') {
    const original = await streams.getMessage(header.get(STREAM), { seq: Number(header.get(SEQUENCE)) }).catch(nothing)
    if (!original) throw new Error(`dead letter ${id} was kept shortened, and ${header.get(STREAM)} has it no longer`)
    body = original.data
  }
  const told = headers()
  told.set(REPLAY, String(Number(header.get(REPLAY)) + 1))
  await jetstream(connection).publish(header.get(FROM), body, { headers: told })
  await streams.deleteMessage(DEAD_STREAM, id)
  return true
}

/** What the server has not is nothing. @throws everything else */
const nothing = (error: unknown): undefined => {
  if (error instanceof JetStreamApiError && error.status === 404) return undefined
  throw error
}

/** Makes the stream when it is missing; one that is there keeps its settings. */
const ensureStream = async (connection: NatsConnection): Promise<void> => {
  const { streams } = await jetstreamManager(connection)
  if ((await streams.info(DEAD_STREAM).catch(nothing)) !== undefined) return
  await streams.add({
    name: DEAD_STREAM,
    subjects: [`${SUBJECT}.*`],
    storage: StorageType.File,
    allow_direct: true,
    max_age: nanos(KEEP),
    max_msgs_per_subject: MOST,
  })
}
