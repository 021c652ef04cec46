import { expect, test } from 'vitest'
import { requireInCi } from './ci.ts'

test('what is missing fails in CI and nowhere else', () => {
  expect(() => requireInCi('PostgreSQL is not installed', { CI: 'true' })).toThrow('PostgreSQL is not installed')
  expect(() => requireInCi('PostgreSQL is not installed', {})).not.toThrow()
  expect(() => requireInCi(undefined, { CI: 'true' })).not.toThrow()
})
