import { expect, test } from 'vitest'
import { PatchError } from '../json-patch/operation.ts'
import { redact } from './redact.ts'

test('values whose name says that they are secret are left out at any depth', () => {
  expect(redact({ user: 'muster', password: 'hunter2', headers: [{ Authorization: 'Bearer x' }] })).toEqual({
    user: 'muster',
    password: '[redacted]',
    headers: [{ Authorization: '[redacted]' }],
  })
})

test('credentials are taken out of URLs, also within sentences', () => {
  expect(redact({ message: 'connecting to postgres://muster:hunter2@db:5432/muster failed' })).toEqual({
    message: 'connecting to postgres://[redacted]@db:5432/muster failed',
  })
})

test('an error keeps its name, message, code, cause and stack', () => {
  const error = Object.assign(new TypeError('no', { cause: new Error('nats://a:b@c') }), { code: 'ENO' })
  expect(redact({ error })).toEqual({
    error: {
      name: 'TypeError',
      message: 'no',
      code: 'ENO',
      stack: expect.stringContaining('redact.test.ts'),
      cause: { name: 'Error', message: 'nats://[redacted]@c', stack: expect.not.stringContaining('a:b') },
    },
  })
})

test('an error of a catalogue says what to do', () => {
  expect(redact({ error: new PatchError(0, '{}', 'it has no path') })).toMatchObject({
    error: { remedy: 'correct the operation that the message names, counted from 0' },
  })
})

test('what refers to itself ends', () => {
  const self: Record<string, unknown> = {}
  self.self = self
  expect(JSON.stringify(redact(self))).toBe('{"self":{"self":{"self":{"self":{"self":{"self":{"self":"…"}}}}}}}')
})
