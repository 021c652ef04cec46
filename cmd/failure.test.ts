import { expect, test } from 'vitest'
import { errorOf } from '#lib/errors/error-of.ts'
import { Failure, reasonOf } from './failure.ts'

const CATALOGUE = { StoreError: { when: 'the store is full', remedy: 'make it larger' } }
class StoreError extends errorOf(CATALOGUE, 'StoreError') {}

test('an error of the catalogue ends a command with what to do behind its message', () => {
  expect(reasonOf(new StoreError('there is no room for x'))).toBe('there is no room for x. To do: make it larger')
})

test('a message that a command wrote itself says what to do already, and stays one line', () => {
  expect(reasonOf(new Failure('the API server does not answer:\n  name another with --context'))).toBe(
    'the API server does not answer: name another with --context',
  )
})
