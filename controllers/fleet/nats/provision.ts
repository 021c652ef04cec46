/** Makes the buckets, and brings those that are there to the settings that the fleet needs, or says why it does not. */
import {
  DiscardPolicy,
  type JetStreamManager,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { type NatsConnection, nanos } from '@nats-io/transport-node'
import { type BucketSettings, compareBucket, type FoundBucket } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { type Connected, toNatsProblem } from '#lib/nats/connection.ts'
import { findStream } from '#lib/nats/find-stream.ts'
import { streamOf, subjectOf } from '#lib/nats/kv-subjects.ts'
import { isWithoutRoom } from '#lib/nats/limits.ts'
import { NatsProblem } from '#lib/nats/problem.ts'
import type { Logger } from '#operator/model/log.ts'
import type { StoreState } from './store-history.ts'

/** Which store a bucket is: one that was deleted and made anew has another. FLEET-13. */
export type Incarnation = string

const NANOSECONDS = 1_000_000

/** The bucket as it must be. @throws NatsProblem (BucketRefused, Refused, NoJetStream, Unreachable) */
export const ensureBucket = async (
  { connection, manager }: Connected,
  settings: BucketSettings,
  log: Logger,
): Promise<Incarnation> => {
  try {
    const found = await findStream(manager, settings.name)
    if (found === undefined) return await create(connection, manager, settings, log)
    refuseForeign(settings, found)
    refuseUncountable(settings.name, found)
    const verdict = compareBucket(settings, settingsOf(settings.name, found))
    switch (verdict.verdict) {
      case 'Fine':
        break
      case 'Migrate':
        await migrate(manager, verdict.settings, found, log)
        log.info('fleet: a bucket had other settings and was changed', {
          bucket: settings.name,
          changes: verdict.changes,
        })
        break
      case 'Refuse':
        throw new NatsProblem('BucketRefused', verdict.reason)
    }
    await close(manager, found)
    return found.created
  } catch (error) {
    throw toNatsProblem(`make or change the bucket ${settings.name}`, error)
  }
}

/** A bucket at a moment. */
export interface BucketLook {
  readonly store: StoreState
  /** By the server's clock: milliseconds since the epoch. */
  readonly time: number
  readonly usedBytes: number
  /** Undefined when it has no limit. */
  readonly maxBytes: number | undefined
}

/** What is in its store, which stays closed. @throws NatsProblem (BucketGone, …) when the bucket is another one than it was */
export const checkIncarnation = async (
  manager: JetStreamManager,
  bucket: string,
  incarnation: Incarnation,
): Promise<BucketLook> => {
  const found = await findStream(manager, bucket).catch((error: unknown) => {
    throw toNatsProblem(`tell about the bucket ${bucket}`, error)
  })
  if (found?.created === incarnation) {
    refuseUncountable(bucket, found)
    // An operator of an earlier release beside this one opens it when it begins.
    await close(manager, found)
    return lookOf(found)
  }
  const what = found === undefined ? 'was deleted' : 'was deleted and made anew'
  throw new NatsProblem('BucketGone', `the bucket ${bucket} ${what}: what is missing in it is written again`)
}

const lookOf = (info: StreamInfo): BucketLook => ({
  store: storeStateOf(info),
  time: timeOf(info),
  usedBytes: info.state.bytes,
  maxBytes: info.config.max_bytes > 0 ? info.config.max_bytes : undefined,
})

export const storeStateOf = ({ state }: StreamInfo): StoreState => ({
  firstRevision: state.first_seq,
  lastRevision: state.last_seq,
  messages: state.messages,
})

/** When the server answered, by its clock: milliseconds since the epoch. */
export const timeOf = ({ ts }: StreamInfo): number => Date.parse(ts ?? '')

const create = async (
  connection: NatsConnection,
  manager: JetStreamManager,
  settings: BucketSettings,
  log: Logger,
): Promise<Incarnation> => {
  const { history, ttl, maxValueSize, maxBytes, storage } = settings
  const createWith = (limit: number) =>
    new Kvm(connection).create(settings.name, {
      history,
      maxValueSize,
      max_bytes: limit,
      storage: storage === 'file' ? StorageType.File : StorageType.Memory,
      description: 'Muster: made and watched by its fleet operator',
      ...(ttl > 0 && { ttl }),
    })
  try {
    await createWith(maxBytes)
  } catch (error) {
    if (!isWithoutRoom(error)) throw error
    warnOfNoRoom(settings, log)
    await createWith(NO_LIMIT)
  }
  const made = await manager.streams.info(streamOf(settings.name))
  await close(manager, made)
  log.info('fleet: a bucket was created', { bucket: settings.name })
  return made.created
}

const NO_LIMIT = -1

/** A fleet goes on without a limit where NATS can't keep the room for it, also one whose store was lost: FLEET-13. */
const warnOfNoRoom = ({ name, maxBytes }: BucketSettings, log: Logger): void =>
  log.warn('fleet: a bucket has no limit, because NATS has no room to keep for it: raise max_file_store of JetStream', {
    bucket: name,
    bytes: maxBytes,
  })

const migrate = async (
  { streams }: JetStreamManager,
  settings: BucketSettings,
  found: StreamInfo,
  log: Logger,
): Promise<void> => {
  const stream = streamOf(settings.name)
  try {
    await streams.update(stream, changesTo(settings))
  } catch (error) {
    if (!isWithoutRoom(error)) throw error
    warnOfNoRoom(settings, log)
    await streams.update(stream, changesTo({ ...settings, maxBytes: found.config.max_bytes }))
  }
}

/** The server's shortest. Nothing in a bucket is told apart by ids, and each would be remembered for two minutes, whatever its length. */
const DUPLICATE_WINDOW = nanos(100)

/**
 * Closes a bucket to headers by which a device, with one key that it may write, would erase what all others said (`Nats-Rollup`) or
 * fill the server's memory (`Nats-Msg-Id`). Markers of what expired need rollups, so there are none: the operator reckons it. NATS-12.
 */
const CLOSED = { allow_rollup_hdrs: false, duplicate_window: DUPLICATE_WINDOW, subject_delete_marker_ttl: 0 }

/**
 * With other settings a bucket throws entries away, takes none, answers no write, has them under other keys, or keeps devices from their
 * consumers. The fleet's key for NATS opens all of them, also when it was stolen. NATS-24.
 */
const KEPT = {
  max_msgs: -1,
  no_ack: false,
  discard: DiscardPolicy.New,
  discard_new_per_subject: false,
  republish: undefined,
  subject_transform: undefined,
  sources: undefined,
  consumer_limits: undefined,
} satisfies Partial<StreamConfig>

const close = async ({ streams }: JetStreamManager, { config }: StreamInfo): Promise<void> => {
  const kept = { ...CLOSED, ...KEPT }
  const isKept = (name: keyof typeof kept) => isSame(config[name], kept[name])
  if (!(Object.keys(kept) as (keyof typeof kept)[]).every(isKept)) await streams.update(config.name, kept)
}

/** Servers leave out what is not set, or say it by an empty object. */
const isSame = (found: unknown, kept: unknown): boolean =>
  found === kept || (!kept && (!found || Object.keys(found).length === 0))

/** Far below where numbers of JSON are no longer told apart, and far above what a fleet writes. */
const MAX_REVISION = 2 ** 52

/** To every reader the next revisions would be the same number. @throws NatsProblem */
const refuseUncountable = (bucket: string, { state }: StreamInfo): void => {
  if (state.last_seq < MAX_REVISION) return
  throw new NatsProblem(
    'BucketRefused',
    `the revisions of the bucket ${bucket} are at ${state.last_seq}, where they can't be counted: someone set them; delete the bucket, and it is made and filled again`,
  )
}

/** A stream of the name of a bucket that is none. */
const refuseForeign = ({ name }: BucketSettings, { config }: StreamInfo): void => {
  const subject = subjectOf(name, '>')
  const isBucket = config.subjects?.length === 1 && config.subjects[0] === subject && config.mirror === undefined
  if (config.max_consumers > 0)
    throw new NatsProblem(
      'BucketRefused',
      `the bucket ${name} has ${config.max_consumers} consumers at most, and each device needs one; delete it, and it is made and filled again`,
    )
  if (isBucket && !config.sealed) return
  const problem = config.sealed ? 'is sealed' : `does not hold the subjects ${subject} and nothing else`
  throw new NatsProblem(
    'BucketRefused',
    `the stream ${config.name} ${problem}: the bucket ${name} needs it; move its content away, delete it, and start again`,
  )
}

const settingsOf = (name: string, { config, state }: StreamInfo): FoundBucket => ({
  name,
  history: config.max_msgs_per_subject,
  ttl: Math.round(config.max_age / NANOSECONDS),
  maxValueSize: config.max_msg_size,
  maxBytes: config.max_bytes,
  storage: config.storage === StorageType.File ? 'file' : 'memory',
  usedBytes: state.bytes,
})

const changesTo = ({ history, ttl, maxValueSize, maxBytes }: BucketSettings): Partial<StreamConfig> => ({
  max_msgs_per_subject: history,
  max_age: nanos(ttl),
  // Not longer than the age, which would be refused.
  duplicate_window: DUPLICATE_WINDOW,
  max_msg_size: maxValueSize,
  max_bytes: maxBytes,
})
