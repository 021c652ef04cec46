import type { JsMsg, StoredMsg } from '@nats-io/jetstream'
import type { Msg } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { foreignHeaders } from './foreign-headers.ts'

/** A message as the client library has it, whose headers may not be decoded. */
const undecoded = (more: object): Msg =>
  Object.defineProperties({ subject: 's', reply: 'r', data: new Uint8Array(10), ...more } as Msg, {
    headers: {
      get: () => {
        throw new Error('it was decoded')
      },
    },
  })

// NATS-11
test('headers beyond 4 KiB are not decoded, which would take quadratic time, however the message came', () => {
  const received = undecoded({ size: () => 12 + 4_097 })
  const problem = 'its headers have 4097 bytes, at most 4096 are read'
  expect(foreignHeaders(received)).toMatchObject({ problem })
  expect(foreignHeaders({ msg: received } as unknown as JsMsg)).toMatchObject({ problem })
  const stored = Object.defineProperty({ smr: { message: { hdrs: 'x'.repeat(5_464) } } }, 'header', {
    get: () => {
      throw new Error('it was decoded')
    },
  })
  expect(foreignHeaders(stored as unknown as StoredMsg).problem).toContain('have 4098 bytes')
})

test('what can’t be decoded has no value, and says why', () => {
  const headers = foreignHeaders(undecoded({ size: () => 12 + 20 }))
  expect(headers.problem).toBe("its headers can't be decoded: it was decoded")
  expect(headers.get('KV-Operation')).toBe('')
})
