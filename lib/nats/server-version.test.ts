import { expect, test } from 'vitest'
import { isServerTooOld } from './server-version.ts'

test.for([
  ['2.11.0', false],
  ['2.11.0-RC.1', false],
  ['2.14.3', false],
  ['3.0.0', false],
  ['2.10.29', true],
  ['1.99.0', true],
  ['0', true],
] as const)('a server of NATS %s: too old is %s', ([version, expected]) => {
  expect(isServerTooOld(version)).toBe(expected)
})
