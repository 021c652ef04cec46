/**
 * Reads entries of a bucket that clients with fewer rights may have written to: each message is read by itself, so that one of any
 * bytes is an entry that can't be read and no more. The KV client would end with it. NATS-11.
 */
import { setTimeout as delay } from 'node:timers/promises'
import {
  type ConsumerMessages,
  DeliverPolicy,
  JetStreamApiError,
  type JetStreamManager,
  type JsMsg,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import type { NatsConnection, QueuedIterator, Status } from '@nats-io/transport-node'
import { AbortScope } from '../abort/abort-scope.ts'
import { messageOf } from '../errors/message-of.ts'
import { detach } from '../process/detach.ts'
import { type ForeignHeaders, foreignHeaders } from './foreign-headers.ts'
import { keyIn, streamOf, subjectOf } from './kv-subjects.ts'
import { NatsProblem } from './problem.ts'
import { ReadingEnd } from './reading-end.ts'

/** An entry as it was written. */
export interface BucketEntry {
  readonly key: string
  /** Expired: the server removed the value by itself. */
  readonly kind: 'Value' | 'Deleted' | 'Expired' | 'Unreadable'
  /** Why it is unreadable; else empty. */
  readonly problem: string
  /** The first value of a header; empty when there is none, or nothing can be read. */
  readonly header: (name: string) => string
  /** A part of a larger buffer of the network, all of which stays as long as this does: keep a copy. */
  readonly value: Uint8Array
  readonly revision: number
  /** By the clock of the server. */
  readonly at: Date
  /** How many more there were when it was sent. */
  readonly pending: number
}

/** NATS: ADR-8 for what clients write, ADR-43 for what the server removes. @returns undefined for a message of no such bucket */
export const toEntry = (bucket: string, message: JsMsg): BucketEntry | undefined => {
  const key = keyIn(bucket, message.subject)
  if (key === undefined) return undefined
  const { seq: revision, time: at, data: value, info } = message
  const headers = foreignHeaders(message)
  return { key, ...kindOf(headers), header: headers.get, value, revision, at, pending: info.pending }
}

const kindOf = (headers: ForeignHeaders): Pick<BucketEntry, 'kind' | 'problem'> => {
  if (headers.problem !== undefined) return { kind: 'Unreadable', problem: headers.problem }
  const operation = headers.get('KV-Operation')
  if (operation === 'DEL' || operation === 'PURGE') return { kind: 'Deleted', problem: '' }
  if (headers.get('Nats-Marker-Reason') !== '') return { kind: 'Expired', problem: '' }
  if (operation === '' || operation === 'PUT') return { kind: 'Value', problem: '' }
  return { kind: 'Unreadable', problem: `it is no operation of a bucket: ${JSON.stringify(operation.slice(0, 50))}` }
}

/** Entries as they come, until it is stopped, the connection breaks, or some are lost. @param keys A pattern of subjects. @param from The first revision; the last one of each key when undefined. @throws what NATS answers */
export const openEntries = async (
  connection: NatsConnection,
  bucket: string,
  keys: string,
  from?: number,
): Promise<ConsumerMessages> => {
  const consumer = await jetstream(connection).consumers.getPushConsumer(streamOf(bucket), {
    filter_subjects: [subjectOf(bucket, keys)],
    ...(from === undefined ? { deliver_policy: DeliverPolicy.LastPerSubject } : { opt_start_seq: from }),
  })
  const messages = await consumer.consume()
  detach('watching for lost entries', stopWhenLost(messages))
  return messages
}

/**
 * The last ones that a server sent may be lost between it and the server of the connection, which stays: what comes next would show that, but
 * nothing may. The server says now and then how many it has sent.
 */
const stopWhenLost = async (messages: ConsumerMessages): Promise<void> => {
  for await (const status of messages.status())
    if (status.type === 'heartbeat' && status.lastConsumerSequence > messages.getProcessed() + messages.getPending())
      messages.stop()
}

/** What was written last, as the server that leads the bucket has it: what is read may come from one that lags behind. */
export type NewestEntry = Omit<BucketEntry, 'key' | 'pending'>

/** @param keys A pattern of subjects, or a key. @returns undefined when there are none @throws what NATS answers */
export const newestEntry = async (
  { streams }: JetStreamManager,
  bucket: string,
  keys: string,
): Promise<NewestEntry | undefined> => {
  const found = await streams.getMessage(streamOf(bucket), { last_by_subj: subjectOf(bucket, keys) })
  if (found === null) return undefined
  const headers = foreignHeaders(found)
  return { ...kindOf(headers), header: headers.get, value: found.data, revision: found.seq, at: found.time }
}

/** The keys of which there is an entry, be it a deletion, as the server that leads the bucket has them. @param keys A pattern of subjects. @throws what NATS answers */
export const listKeys = async (
  { streams }: JetStreamManager,
  bucket: string,
  keys: string,
): Promise<readonly string[]> => {
  const { state } = await streams.info(streamOf(bucket), { subjects_filter: subjectOf(bucket, keys) })
  return Object.keys(state.subjects ?? {}).flatMap((subject) => keyIn(bucket, subject) ?? [])
}

/** Milliseconds between looks at whether all of it was read. */
const END_CHECK_INTERVAL_MS = 1_000

/**
 * The entries that there are, deletions included; their values are copies. All of them or none: where the connection breaks meanwhile it
 * throws, also when that comes back by itself, since what was on its way is lost. FLEET-102.
 * @param keys A pattern of subjects. @throws NatsProblem (Unreachable) when it was cut off, and what NATS answers
 */
export const readEntries = async (
  connection: NatsConnection,
  bucket: string,
  keys: string,
): Promise<readonly BucketEntry[]> => {
  const entries: BucketEntry[] = []
  const end = new ReadingEnd()
  using ending = new AbortScope()
  const stop = () => ending.abort()
  const { signal } = ending
  // From before the first request: what is lost from here on is noticed.
  const broken = awaitBreak(connection, signal).then(stop)
  const read = async (): Promise<void> => {
    const messages = await openEntries(connection, bucket, keys)
    signal.addEventListener('abort', () => messages.stop(), { once: true })
    if (signal.aborted) messages.stop()
    // The client stops as the last of what is iterated, so that is iterated in any case.
    for await (const message of messages) {
      const entry = toEntry(bucket, message)
      if (entry === undefined) continue
      entries.push({ ...entry, value: entry.value.slice() })
      end.read(entry.revision, entry.pending)
      if (end.isReached) break
    }
    stop()
    if (!end.isReached) throw new Error('the connection to NATS broke, or entries were lost on their way')
  }
  const ask = async (): Promise<void> => {
    const manager = await jetstreamManager(connection, { checkAPI: false })
    while (!end.isReached && !signal.aborted) {
      const read = end.revision
      end.asked((await newestEntry(manager, bucket, keys))?.revision ?? 0, read)
      if (end.isReached) stop()
      else await delay(END_CHECK_INTERVAL_MS, undefined, { signal }).catch(() => undefined)
    }
  }
  try {
    await Promise.all([read(), ask()])
  } catch (error) {
    if (!end.isReached) throw error instanceof JetStreamApiError ? error : cutOff(bucket, entries, error)
  } finally {
    stop()
    await broken
  }
  return entries
}

/** Resolves when the connection breaks, be it for a while, or the signal aborts. */
const awaitBreak = async (connection: NatsConnection, signal: AbortSignal): Promise<void> => {
  const status = connection.status() as QueuedIterator<Status>
  signal.addEventListener('abort', () => status.stop(), { once: true })
  for await (const { type } of status) if (type === 'disconnect' || type === 'close') return
}

const cutOff = (bucket: string, entries: readonly BucketEntry[], cause: unknown): NatsProblem => {
  const last = entries.at(-1)
  const where =
    last === undefined ? 'before its first entry' : `after ${entries.length} entries, with ${last.pending} to come`
  return new NatsProblem('Unreachable', `the bucket ${bucket} was cut off ${where}: ${messageOf(cause)}`, { cause })
}
