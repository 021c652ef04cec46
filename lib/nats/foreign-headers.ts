/**
 * Headers of messages that a client with fewer rights may have written: a server stores any bytes as headers. The client library throws
 * where it can't decode them, wherever they are read first, and takes quadratic time where they are many. NATS-11.
 */
import type { JsMsg, StoredMsg } from '@nats-io/jetstream'
import type { Msg, MsgHdrs } from '@nats-io/transport-node'
import { messageOf } from '../errors/message-of.ts'

/** Bytes of headers that are decoded; what Muster and servers write has some hundred. */
const MAX_HEADER_BYTES = 4_096

export interface ForeignHeaders {
  /** The first value; empty when there is none, or nothing can be read. */
  get(name: string): string
  /** Why they can't be read; undefined when they can. */
  readonly problem: string | undefined
}

/** Never throws. */
export const foreignHeaders = (message: Msg | JsMsg | StoredMsg): ForeignHeaders => {
  const bytes = headerBytesOf(message)
  if (bytes > MAX_HEADER_BYTES)
    return unreadable(`its headers have ${bytes} bytes, at most ${MAX_HEADER_BYTES} are read`)
  try {
    const headers: MsgHdrs | undefined = 'header' in message ? message.header : message.headers
    return { get: (name) => headers?.get(name) ?? '', problem: undefined }
  } catch (error) {
    return unreadable(`its headers can't be decoded: ${messageOf(error)}`)
  }
}

const unreadable = (problem: string): ForeignHeaders => ({ get: () => '', problem })

/** What messages of the client library have beside what their types say. */
interface Internals {
  /** A message of JetStream is around the one that came. */
  readonly msg?: Internals
  /** Bytes of all of it. */
  size?(): number
  /** As the server answered, in Base64. */
  readonly smr?: { readonly message: { readonly hdrs?: string } }
}

/** About how many: known before anything is decoded. */
const headerBytesOf = (message: Msg | JsMsg | StoredMsg): number => {
  const { smr, msg } = message as unknown as Internals
  if (smr !== undefined) return Math.ceil(((smr.message.hdrs?.length ?? 0) * 3) / 4)
  const received = (msg ?? message) as Msg & Internals
  const { subject, reply = '', data } = received
  return (received.size?.() ?? 0) - subject.length - reply.length - data.length
}
