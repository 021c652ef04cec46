/** POOL-15: what people are told of clusters that failed. */
import { expect, test } from 'vitest'
import { failureMessage } from './attempts.ts'

const failure = { count: 3, uid: 'uid', poolVersion: 'v', message: 'cluster one failed: no such zone' }
const retryTime = '2026-03-01T12:00:00.000Z'

test.each([
  [
    'with attempts left',
    { failure: { ...failure, count: 1 }, retryTime },
    3,
    `1 of 3 attempts used; tried again at ${retryTime} or later`,
  ],
  ['with none left', { failure }, 3, '3 of 3 attempts used; edit the customization to try again'],
  [
    'when more attempts are allowed now than then',
    { failure },
    5,
    '3 of 5 attempts used; used again, because more attempts are allowed now',
  ],
] as const)('a failure %s says what comes next, and never a time that is not known', (_, failures, limit, next) => {
  expect(failureMessage(failures, limit)).toBe(`cluster one failed: no such zone; ${next}`)
})
