import fc from 'fast-check'
import { expect, test } from 'vitest'
import { natsAllowlist, refuseBlockedServer } from './nats-allowlist.ts'

const { refusal } = natsAllowlist(['nats://nats.example.com:4222', 'tls://nats.example.com:4443'])

test.each([
  'nats://nats.example.com:4222',
  'nats://nats.example.com',
  'nats://NATS.example.com:4222',
  'tls://nats.example.com:4443',
])('ADAPTER-103: %s is listed', (url) => {
  expect(refusal(url)).toBeUndefined()
})

test.each([
  'nats://nats.example.com:4223',
  // What is listed with TLS is not asked without it.
  'nats://nats.example.com:4443',
  'tls://nats.example.com:4222',
  'nats://nats.example.com.evil.example:4222',
  'nats://evil.example:4222/nats.example.com:4222',
  'nats://nats.example.com:4222@evil.example',
  'nats://127.0.0.1:4222',
])('ADAPTER-103: %s is not', (url) => {
  expect(refusal(url)).toContain('--adapter-nats-servers')
})

test('where nothing is listed no server is asked, and a password in the URL is not told', () => {
  const message = natsAllowlist([]).refusal('nats://me:s3cret@nats.example.com')
  expect(message).toBe(
    'nats://nats.example.com is not among the NATS servers that --adapter-nats-servers lists, which is nothing',
  )
})

test('a link-local address is refused also where it is listed, and by the name that leads to it', async () => {
  const url = 'nats://169.254.169.254:4222'
  expect(natsAllowlist([url]).refusal(url)).toContain('link-local')
  // Number and name: the resolver makes the address of both.
  await expect(refuseBlockedServer('nats://2852039166:4222')).rejects.toThrow('link-local')
  await expect(refuseBlockedServer('nats://[fe80::1]:4222')).rejects.toThrow('link-local')
  await refuseBlockedServer('nats://127.0.0.1:4222')
})

test('ADAPTER-103: whatever a task writes, what is let through is the address that is listed', () => {
  const listed = 'nats://nats.example.com:4222'
  const { refusal } = natsAllowlist([listed])
  const piece = fc.constantFrom(
    'nats://',
    'tls://',
    'nats.example.com',
    'evil.example',
    ':4222',
    ':1',
    '@',
    '/',
    '#',
    '?',
    ',',
    '.',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const url = pieces.join('')
      if (!URL.canParse(url) || refusal(url) !== undefined) return
      const { protocol, hostname, port } = new URL(url)
      expect(`${protocol}//${hostname}:${port || '4222'}`).toBe(listed)
    }),
  )
})
