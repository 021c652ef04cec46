/**
 * Messages of JetStream that a task can't work on are kept in a stream of their own, with the reason, until they are replayed:
 * ADAPTER-17, ADAPTER-22. Dead letters of the API's queue: docs/api-events.md.
 */
import { jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { headers, type NatsConnection, nanos } from '@nats-io/transport-node'
import { foreignHeaders } from '#lib/nats/foreign-headers.ts'
import { ignoreNotFound } from '#lib/nats/ignore-not-found.ts'

export const DEAD_STREAM = 'hyperfleet-dead-letters'
const SUBJECT = 'hyperfleet.dead-letters'
/** How long they are kept, in milliseconds. */
const RETENTION_MS = 30 * 24 * 3_600_000
/** The newest of each consumer. */
const MAX_PER_CONSUMER = 10_000
/** Bytes of a message for its headers. */
const HEADER_BYTES = 4_096

const PROBLEM_HEADER = 'Muster-Problem'
const SUBJECT_HEADER = 'Muster-Subject'
const STREAM_HEADER = 'Muster-Stream'
const SEQUENCE_HEADER = 'Muster-Sequence'
const DELIVERIES_HEADER = 'Muster-Deliveries'
const TRUNCATED_HEADER = 'Muster-Shortened'
/** How often a message was replayed. */
export const REPLAYS_HEADER = 'Muster-Replay'

/** A message that is given up. */
export interface UndeliverableMessage {
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
export interface StoredDeadLetter extends Omit<UndeliverableMessage, 'body'> {
  /** By which it is replayed. */
  readonly id: number
  /** RFC 3339, UTC. */
  readonly time: string
  readonly text: string
}

/** Keeps a message; once, however often it is called. @throws Error when it can't be kept */
export const storeDeadLetter = async (connection: NatsConnection, poison: UndeliverableMessage): Promise<void> => {
  await ensureStream(connection)
  const { consumer, subject, stream, sequence, deliveries, replays, problem, body } = poison
  const room = (connection.info?.max_payload ?? 1024 * 1024) - HEADER_BYTES
  const letterHeaders = headers()
  const line = problem.replaceAll(/[\r\n]+/g, ' ').slice(0, 1_000)
  for (const [name, value] of [
    [PROBLEM_HEADER, line],
    [SUBJECT_HEADER, subject],
    [STREAM_HEADER, stream],
    [SEQUENCE_HEADER, sequence],
    [DELIVERIES_HEADER, deliveries],
    [REPLAYS_HEADER, replays],
  ] as const)
    letterHeaders.set(name, String(value))
  if (body.length > room) letterHeaders.set(TRUNCATED_HEADER, 'true')
  await jetstream(connection).publish(`${SUBJECT}.${consumer}`, body.slice(0, room), {
    headers: letterHeaders,
    msgID: `${consumer}/${stream}/${sequence}`,
  })
}

/** The oldest first. @param consumer of all consumers when undefined */
export const listDeadLetters = async (
  connection: NatsConnection,
  consumer: string | undefined,
  limit: number,
): Promise<readonly StoredDeadLetter[]> => {
  const { streams } = await jetstreamManager(connection)
  // The stream is created with the first dead letter; before that, reads would fail.
  if ((await streams.info(DEAD_STREAM).catch(ignoreNotFound)) === undefined) return []
  const letters: StoredDeadLetter[] = []
  const next_by_subj = `${SUBJECT}.${consumer ?? '*'}`
  for (let seq = 1; letters.length < limit; ) {
    // Not by a direct get, which answers with the headers that are stored.
    const next = { seq, next_by_subj }
    const stored = await streams.getMessage(DEAD_STREAM, next).catch(ignoreNotFound)
    if (!stored) break
    const found = foreignHeaders(stored)
    const word = (name: string) => found.get(name)
    letters.push({
      id: stored.seq,
      time: stored.time.toISOString(),
      consumer: stored.subject.slice(SUBJECT.length + 1),
      problem: found.problem === undefined ? word(PROBLEM_HEADER) : unreadable(found.problem),
      subject: word(SUBJECT_HEADER),
      stream: word(STREAM_HEADER),
      sequence: Number(word(SEQUENCE_HEADER)),
      deliveries: Number(word(DELIVERIES_HEADER)),
      replays: Number(word(REPLAYS_HEADER)),
      text: stored.string(),
    })
    seq = stored.seq + 1
  }
  return letters
}

const unreadable = (problem: string): string =>
  `this is no dead letter that Muster wrote, and can’t be read: ${problem}`

/**
 * Publishes it again where it came from, for every consumer there, and keeps it no longer. At least once.
 * @returns whether there was one of that id
 * @throws Error when it was too large to be kept as a whole, and is gone from where it lay, or can't be read
 */
export const replayDeadLetter = async (connection: NatsConnection, id: number): Promise<boolean> => {
  const { streams } = await jetstreamManager(connection)
  const stored = await streams.getMessage(DEAD_STREAM, { seq: id }).catch(ignoreNotFound)
  if (!stored) return false
  const header = foreignHeaders(stored)
  if (header.problem !== undefined) throw new Error(`${id}: ${unreadable(header.problem)}`)
  let body = stored.data
  if (header.get(TRUNCATED_HEADER) === 'true') {
    const original = await streams
      .getMessage(header.get(STREAM_HEADER), { seq: Number(header.get(SEQUENCE_HEADER)) })
      .catch(ignoreNotFound)
    if (!original)
      throw new Error(`dead letter ${id} was kept shortened, and ${header.get(STREAM_HEADER)} has it no longer`)
    body = original.data
  }
  const letterHeaders = headers()
  letterHeaders.set(REPLAYS_HEADER, String(Number(header.get(REPLAYS_HEADER)) + 1))
  await jetstream(connection).publish(header.get(SUBJECT_HEADER), body, { headers: letterHeaders })
  await streams.deleteMessage(DEAD_STREAM, id)
  return true
}

/** Makes the stream when it is missing; one that is there keeps its settings. */
const ensureStream = async (connection: NatsConnection): Promise<void> => {
  const { streams } = await jetstreamManager(connection)
  if ((await streams.info(DEAD_STREAM).catch(ignoreNotFound)) !== undefined) return
  await streams.add({
    name: DEAD_STREAM,
    subjects: [`${SUBJECT}.*`],
    storage: StorageType.File,
    allow_direct: true,
    max_age: nanos(RETENTION_MS),
    max_msgs_per_subject: MAX_PER_CONSUMER,
  })
}
