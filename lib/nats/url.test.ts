import { expect, test } from 'vitest'
import { hideCredentials, serverOf, withoutCredentials } from './url.ts'

test.each([
  ['nothing', 'nats://host:4222', { servers: 'nats://host:4222' }],
  ['a user', 'tls://muster:a%20b@host:4222', { servers: 'tls://host:4222', user: 'muster', pass: 'a b' }],
  ['a token', 'nats://t0ken@host', { servers: 'nats://host', token: 't0ken' }],
  ['a password with an @', 'nats://u:p@ss@host', { servers: 'nats://host', user: 'u', pass: 'p@ss' }],
])('what is proved with %s in the URL', (_case, url, server) => {
  expect(serverOf(url)).toEqual(server)
  expect(withoutCredentials(url)).toBe(server.servers)
  expect(hideCredentials(`${url},${url}`)).toBe(`${server.servers},${server.servers}`)
})
