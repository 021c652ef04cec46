import { describe, expect, test } from 'vitest'
import { apiPath } from './api-path.ts'
import { isRetryable, retryDelay } from './retry.ts'

test.for([
  ['/clusters/x', '/api/hyperfleet/v1/clusters/x'],
  ['clusters/x?a=1', '/api/hyperfleet/v1/clusters/x?a=1'],
  ['/api/hyperfleet/v1/clusters/x', '/api/hyperfleet/v1/clusters/x'],
  ['api/hyperfleet/v1/clusters/x', '/api/hyperfleet/v1/clusters/x'],
  ['https://elsewhere.example.com/api/hyperfleet/v1/clusters/x?b=2', '/api/hyperfleet/v1/clusters/x?b=2'],
])('ADAPTER-54: %s is requested from the task’s own API as %s', ([url = '', path]) => {
  expect(apiPath(url)).toBe(path)
})

describe('another try', () => {
  const retry = { attempts: 5, baseDelayMs: 100, maxDelayMs: 1_000, timeoutMs: undefined }
  test.for<['constant' | 'linear' | 'exponential', number[]]>([
    ['constant', [100, 100, 100, 100, 100]],
    ['linear', [100, 200, 300, 400, 500]],
    ['exponential', [100, 200, 400, 800, 1_000]],
  ])('%s: after %j ms', ([backoff, delays]) => {
    expect([1, 2, 3, 4, 5].map((failed) => retryDelay({ ...retry, backoff }, failed, 0.5))).toEqual(delays)
  })

  test('spread by a tenth either way', () => {
    expect(retryDelay({ ...retry, backoff: 'constant' }, 1, 0)).toBeCloseTo(90)
    expect(retryDelay({ ...retry, backoff: 'constant' }, 1, 1)).toBeCloseTo(110)
  })

  test('ADAPTER-13: for a status that may be another one next time, and for no other', () => {
    expect([408, 429, 500, 503].every(isRetryable)).toBe(true)
    expect([200, 400, 401, 403, 404, 409, 422].some(isRetryable)).toBe(false)
  })
})
