import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalText, equalBytes, open, seal } from './envelope.ts'
import { MalformedEntry } from './malformed.ts'
import { desiredCodec, heartbeatCodec, infoCodec, MAX_VALUE_BYTES, stateCodec } from './payload.ts'

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value))
const digest = 'sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'

/** An object of JSON, without -0: JSON has none. */
const payloads = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true })
  .map((value) => JSON.parse(JSON.stringify(value)) as object)

const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, reversed(inner)]),
  )
}

describe('an envelope', () => {
  // FLEET-21
  test('is the canonical text of its four fields', () => {
    expect(Buffer.from(seal({}, 7)).toString()).toBe(`{"digest":"${digest}","generation":7,"payload":{},"schema":1}`)
  })

  test('gives back what was sealed', () => {
    fc.assert(
      fc.property(payloads, fc.nat(), (payload, generation) => {
        expect(open(seal(payload, generation))).toMatchObject({ generation, payload })
      }),
    )
  })

  // FLEET-21
  test('has the same bytes in whatever order its fields were written', () => {
    fc.assert(
      fc.property(payloads, (payload) => {
        expect(equalBytes(seal(payload, 1), seal(reversed(payload) as object, 1))).toBe(true)
      }),
    )
  })

  test('has other bytes when the content is another', () => {
    fc.assert(
      fc.property(payloads, payloads, (a, b) => {
        expect(equalBytes(seal(a, 1), seal(b, 1))).toBe(canonicalText(a) === canonicalText(b))
      }),
    )
  })

  test.each<[string, Uint8Array, string, string]>([
    ['is empty', new Uint8Array(), 'Json', 'the value is no JSON in UTF-8'],
    ['is not UTF-8', Uint8Array.of(0x22, 0xff, 0x22), 'Json', 'the value is no JSON in UTF-8'],
    ['is a list', bytesOf([]), 'Shape', 'the value is no object'],
    ['has no schema', bytesOf({ generation: 1, digest, payload: {} }), 'Shape', 'schema is no whole number from 1 on'],
    [
      'is of a later release',
      bytesOf({ schema: 2, generation: 1, digest, payload: {} }),
      'Schema',
      'schema is 2, this release reads up to 1: update it',
    ],
    [
      'has a broken generation',
      bytesOf({ schema: 1, generation: -1, digest, payload: {} }),
      'Shape',
      'generation is no whole number from 0 on',
    ],
    [
      'has a digest that is no text',
      bytesOf({ schema: 1, generation: 1, digest: [], payload: {} }),
      'Shape',
      'digest is no text',
    ],
    [
      'holds half a character',
      Buffer.from(`{"schema":1,"generation":1,"digest":"${digest}","payload":{"a":"\\ud83d"}}`),
      'Json',
      "the payload can't be hashed: Lone surrogate is not allowed",
    ],
    [
      'holds a number that is too large',
      Buffer.from(`{"schema":1,"generation":1,"digest":"${digest}","payload":{"a":1e999}}`),
      'Json',
      "the payload can't be hashed: Infinity is not allowed",
    ],
    ['has no payload', bytesOf({ schema: 1, generation: 1, digest }), 'Shape', 'payload is no object'],
    [
      'was changed',
      bytesOf({ schema: 1, generation: 1, digest: 'sha256:00', payload: {} }),
      'Digest',
      `digest is "sha256:00", but that of the payload is ${digest}`,
    ],
  ])('that %s is malformed', (_what, bytes, reason, message) => {
    expect(() => open(bytes)).toThrow(expect.objectContaining({ name: 'MalformedEntry', reason, message }))
  })

  test('of any bytes is read or malformed, never another error', () => {
    const codecs = [desiredCodec, stateCodec, infoCodec, heartbeatCodec]
    const values = fc.oneof(
      fc.uint8Array(),
      fc.jsonValue().map(bytesOf),
      payloads.map((payload) => seal(payload, 1)),
      // More levels than a stack has, in any field: one device must not stop the operator by what it writes of itself.
      fc
        .record({ field: fc.constantFrom('schema', 'generation', 'digest', 'payload', 'in'), depth: fc.nat(60_000) })
        .map(({ field, depth }) => {
          const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`
          const fields = { schema: '1', generation: '1', digest: `"${digest}"`, payload: '{}', [field]: deep }
          const payload = field === 'in' ? `{"labels":${deep}}` : fields.payload
          const { schema, generation, digest: of } = fields
          return Buffer.from(`{"schema":${schema},"generation":${generation},"digest":${of},"payload":${payload}}`)
        }),
    )
    fc.assert(
      fc.property(values, fc.constantFrom(...codecs), (bytes, { decode }) => {
        try {
          decode(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedEntry)
        }
      }),
    )
  })
})

describe('payloads', () => {
  const owner = { uid: 'u', created: '2026-01-01T00:00:00Z' }
  const score = { type: 'Process' as const, data: { command: ['a'] } }

  test('are read as they were written', () => {
    const desired = { owner, revision: 3, score }
    expect(desiredCodec.decode(desiredCodec.encode(desired, 5))).toMatchObject({ generation: 5, payload: desired })
    const state = { phase: 'Failed' as const, uid: 'u', revision: 3, at: owner.created, message: 'no', hold: true }
    expect(stateCodec.decode(stateCodec.encode(state, 5)).payload).toEqual(state)
    const info = { labels: { a: 'b' }, inventory: {}, agentVersion: '1' }
    expect(infoCodec.decode(infoCodec.encode(info, 0)).payload).toEqual(info)
    const heartbeat = { boot: 'b', at: owner.created }
    expect(heartbeatCodec.decode(heartbeatCodec.encode(heartbeat, 0)).payload).toEqual(heartbeat)
  })

  test.each<[object, string]>([
    [{ phase: 'Odd', uid: 'u', revision: 1, at: owner.created }, 'phase is no one of Pending, Running, Failed'],
    [{ phase: 'Running', uid: '', revision: 1, at: owner.created }, 'uid is no text'],
    [{ phase: 'Running', uid: 'u', revision: 0, at: owner.created }, 'revision is no whole number from 1 to 999999999'],
    [{ phase: 'Running', uid: 'u', revision: 1, at: 'noon' }, 'at is no time as RFC 3339 writes it'],
    [{ phase: 'Running', uid: 'u', revision: 1, at: owner.created, hold: 1 }, 'hold is no truth value'],
  ])('a state %j is malformed', (payload, message) => {
    expect(() => stateCodec.decode(seal(payload, 1))).toThrow(expect.objectContaining({ reason: 'Shape', message }))
  })

  test('a value that is too large is refused before it is sent, and when it is read', () => {
    const message = 'x'.repeat(MAX_VALUE_BYTES.state)
    const state = { phase: 'Failed' as const, uid: 'u', revision: 1, at: owner.created, message }
    expect(() => stateCodec.encode(state, 1)).toThrow(expect.objectContaining({ reason: 'Size' }))
    expect(() => stateCodec.decode(seal(state, 1))).toThrow(expect.objectContaining({ reason: 'Size' }))
  })
})
