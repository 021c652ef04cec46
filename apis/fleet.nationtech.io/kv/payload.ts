/** What stands in the envelopes of each bucket, and how it is read. A reader takes only what it knows; more may be there. */
import { messageOf } from '#lib/errors/message-of.ts'
import { isObject } from '#lib/json/is-object.ts'
import type { Score } from '../v1alpha1/score.ts'
import { type Envelope, isCount, type Json, type JsonObject, open, seal } from './envelope.ts'
import { MalformedEntry } from './malformed.ts'

/** fleet-desired: what the operator wants to run on a device. */
export interface Desired {
  /** The Deployment that it is for: one of the same name that was made anew has another uid. */
  readonly owner: { readonly uid: string /** RFC 3339 */; readonly created: string }
  /** Of the Deployment, counted from 1: it grows with every change of the workload, going back included. */
  readonly revision: number
  readonly score: Score
  /** Where the workload has templates: what was filled in for the device. */
  readonly filled?: Filled
}

/** Of several operators that fill in the templates of one revision, the one that saw the device last is right. */
export interface Filled {
  /** Of the workload before it was filled in. */
  readonly digest: string
  /** metadata.resourceVersion of the Device that it was filled in with. Kubernetes: they are ordered as numbers. */
  readonly device: string
}

export const PHASES = ['Pending', 'Running', 'Failed'] as const
export type Phase = (typeof PHASES)[number]

/** fleet-state: how it does, as the agent says. The envelope's generation is the one that is answered. */
export interface State {
  readonly phase: Phase
  /** Of the Deployment that is answered. */
  readonly uid: string
  /** That is answered. */
  readonly revision: number
  /** For people, by the device's clock: RFC 3339. States are ordered by the revisions of the bucket. */
  readonly at: string
  /** Why it failed, or what it waits for. */
  readonly message?: string
  /** The device holds the update back. */
  readonly hold?: boolean
  /** What it was given last is not signed by a key that it knows, so it does not take it. */
  readonly unverified?: boolean
}

/** Characters of a message, in a state and in a status. */
const LONGEST_MESSAGE = 1_024

/** Not too long, and without the half of a character that is left of a cut: it could not be hashed. */
export const truncateMessage = (message: string): string => message.slice(0, LONGEST_MESSAGE).toWellFormed()

/** fleet-info: what a device is. */
export interface Info {
  readonly labels: Readonly<Record<string, string>>
  readonly inventory: Readonly<Record<string, string>>
  readonly agentVersion: string
  /** The ids of the keys by which it verifies entries; absent when it takes every entry. */
  readonly publicKeys?: readonly string[]
}

/** fleet-heartbeat: that a device is there. */
export interface Heartbeat {
  /** Of this start of the agent. */
  readonly boot: string
  readonly at: string
}

const shape = (field: string, what: string): MalformedEntry => new MalformedEntry('Shape', `${field} is no ${what}`)

const text = (from: JsonObject, field: string): string => {
  const value = from[field]
  if (typeof value !== 'string' || value === '') throw shape(field, 'text')
  return value
}

const moment = (from: JsonObject, field: string): string => {
  const value = text(from, field)
  if (Number.isNaN(Date.parse(value))) throw shape(field, 'time as RFC 3339 writes it')
  return value
}

/** Of a Deployment; as annotations take it. */
const MAX_REVISION = 999_999_999

const revision = (from: JsonObject): number => {
  const value = from.revision
  if (!isCount(value) || value === 0 || value > MAX_REVISION)
    throw shape('revision', `whole number from 1 to ${MAX_REVISION}`)
  return value
}

const object = (from: JsonObject, field: string): JsonObject => {
  const value = from[field]
  if (!isObject<Json | undefined>(value)) throw shape(field, 'object')
  return value
}

const texts = (from: JsonObject, field: string): Readonly<Record<string, string>> => {
  const value = object(from, field)
  if (Object.values(value).some((one) => typeof one !== 'string')) throw shape(field, 'map of texts')
  return value as Readonly<Record<string, string>>
}

const optional = <T extends Json>(from: JsonObject, field: string, is: (value: Json) => value is T, what: string) => {
  const value = from[field]
  if (value === undefined) return {}
  if (!is(value)) throw shape(field, what)
  return { [field]: value }
}

const isText = (value: Json): value is string => typeof value === 'string'
const isTexts = (value: Json): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')
const isTruth = (value: Json): value is boolean => typeof value === 'boolean'

/** A score of a type that this release doesn't know is passed on: the agent says that it can't run it. */
const scoreIn = (payload: JsonObject): Score => {
  const score = object(payload, 'score')
  text(score, 'type')
  object(score, 'data')
  return score as unknown as Score
}

const desired = (payload: JsonObject): Desired => {
  const owner = object(payload, 'owner')
  return {
    owner: { uid: text(owner, 'uid'), created: moment(owner, 'created') },
    revision: revision(payload),
    score: scoreIn(payload),
    ...(payload.filled !== undefined && { filled: filledIn(object(payload, 'filled')) }),
  }
}

const filledIn = (filled: JsonObject): Filled => ({ digest: text(filled, 'digest'), device: text(filled, 'device') })

const state = (payload: JsonObject): State => {
  const phase = PHASES.find((known) => known === payload.phase)
  if (phase === undefined) throw shape('phase', `one of ${PHASES.join(', ')}`)
  return {
    phase,
    uid: text(payload, 'uid'),
    revision: revision(payload),
    at: moment(payload, 'at'),
    ...optional(payload, 'message', isText, 'text'),
    ...optional(payload, 'hold', isTruth, 'truth value'),
    ...optional(payload, 'unverified', isTruth, 'truth value'),
  }
}

const info = (payload: JsonObject): Info => ({
  labels: texts(payload, 'labels'),
  inventory: texts(payload, 'inventory'),
  agentVersion: text(payload, 'agentVersion'),
  ...optional(payload, 'publicKeys', isTexts, 'list of texts'),
})

const heartbeat = (payload: JsonObject): Heartbeat => ({ boot: text(payload, 'boot'), at: moment(payload, 'at') })

/** Writes and reads the values of one bucket. */
export interface Codec<Payload> {
  encode(payload: Payload, generation: number): Uint8Array
  /** @throws MalformedEntry */
  decode(bytes: Uint8Array): Envelope<Payload>
}

const codec = <Payload extends object>(most: number, read: (payload: JsonObject) => Payload): Codec<Payload> => ({
  encode(payload, generation) {
    const bytes = seal(payload, generation)
    if (bytes.length > most) throw tooLarge(bytes.length, most)
    return bytes
  },
  decode(bytes) {
    if (bytes.length > most) throw tooLarge(bytes.length, most)
    try {
      const envelope = open(bytes)
      return { ...envelope, payload: read(envelope.payload) }
    } catch (error) {
      if (error instanceof MalformedEntry) throw error
      // Whatever its writer has made of it, such as more levels than a stack has, it is this entry that can't be read, and no other.
      throw new MalformedEntry('Shape', `the value can't be read: ${messageOf(error)}`, { cause: error })
    }
  },
})

const tooLarge = (size: number, most: number): MalformedEntry =>
  new MalformedEntry('Size', `the value has ${size} bytes, at most ${most} are allowed`)

/** The largest values, in bytes; the buckets have the same limits. NATS takes 1 MiB with its headers. */
export const MAX_VALUE_BYTES = { desired: 1_000_000, state: 16_384, info: 131_072, heartbeat: 1_024 } as const

export const desiredCodec = codec(MAX_VALUE_BYTES.desired, desired)
export const stateCodec = codec(MAX_VALUE_BYTES.state, state)
export const infoCodec = codec(MAX_VALUE_BYTES.info, info)
export const heartbeatCodec = codec(MAX_VALUE_BYTES.heartbeat, heartbeat)
