import { expect, test } from 'vitest'
import { findPlainHost } from './plain-connection.ts'

test.each<[string, NodeJS.ProcessEnv, string | undefined]>([
  ['postgres://u:p@db.example.com/api', {}, 'db.example.com'],
  ['postgres://u:p@db.example.com/api?sslmode=disable', {}, 'db.example.com'],
  ['postgres://u:p@localhost/api?host=10.0.0.5', {}, '10.0.0.5'],
  ['postgres:///api', { PGHOST: 'db' }, 'db'],
  ['postgres://u:p@db.example.com/api?sslmode=verify-full&sslrootcert=ca.crt', {}, undefined],
  ['postgres://u:p@db.example.com/api?ssl=true', {}, undefined],
  ['postgres://u:p@db.example.com/api', { PGSSLMODE: 'require' }, undefined],
  ['postgres://u:p@127.0.0.1:5432/api', {}, undefined],
  ['postgres://u:p@[::1]/api', {}, undefined],
  ['postgres://u@x/api?host=/run/postgresql', {}, undefined],
  ['postgres:///api', {}, undefined],
])('%s with %o goes in the clear to: %s', (url, env, host) => {
  expect(findPlainHost(url, env)).toBe(host)
})
