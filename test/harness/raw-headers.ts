import type { MsgHdrs } from '@nats-io/transport-node'

/** Headers of a message as they stand here, which the client library would refuse to make. */
export const rawHeaders = (headers: string | Uint8Array): MsgHdrs => {
  const bytes = typeof headers === 'string' ? new TextEncoder().encode(headers) : headers
  return { encode: () => bytes } as unknown as MsgHdrs
}

/** Those that no client can decode. */
export const UNDECODABLE = [
  'NATS/1.0\r\nbad name: x\r\n\r\n',
  'NATS/1.0\r\nName: a\rb\r\n\r\n',
  'NATS/1.0\r\nName: a\nb\r\n\r\n',
] as const
