import { expect, test } from 'vitest'
import { NoTokenError } from '../http/bearer-token.ts'
import { ApiRefusals } from './api-refusals.ts'

const BASE = '/api/hyperfleet/v1'
const CLAIM = { method: 'POST', url: `${BASE}/events/consumers/dns/claims` } as const
const REPORT = { method: 'PUT', url: `${BASE}/clusters/c1/statuses` } as const
const READ = { method: 'GET', url: `${BASE}/clusters/c1/statuses` } as const

const answered = (request: { method: 'GET' | 'POST' | 'PUT'; url: string }, status: number, problem = '') => ({
  request,
  status,
  problem,
  error: undefined,
})

test('ADAPTER-106: what is refused is so until the same is taken', () => {
  let changes = 0
  const refusals = new ApiRefusals(() => changes++)
  refusals.record(answered(REPORT, 403, 'not for this adapter'))
  expect(refusals.problem).toBe('not for this adapter')
  // Events are taken all the same; an API that is overloaded, or a read, says nothing.
  refusals.record(answered(CLAIM, 200))
  refusals.record(answered(REPORT, 503))
  refusals.record(answered(REPORT, 429))
  refusals.record(answered(READ, 200))
  refusals.record({ request: REPORT, status: undefined, problem: 'refused', error: new Error('no answer') })
  expect(refusals.problem).toBe('not for this adapter')
  refusals.record(answered(REPORT, 409))
  expect(refusals.problem).toBeUndefined()
  expect(changes).toBe(2)
})

test('ADAPTER-106: a request that is not sent for want of a token is refused', () => {
  const refusals = new ApiRefusals(() => {})
  refusals.record({ request: CLAIM, status: undefined, problem: 'no account', error: new NoTokenError('no account') })
  expect(refusals.problem).toBe('no account')
})

test('what the task reads beside is no business of its status', () => {
  const refusals = new ApiRefusals(() => {})
  refusals.record(answered({ method: 'GET', url: `${BASE}/nodepools` }, 403, 'no'))
  refusals.record(answered({ method: 'POST', url: `${BASE}/events` }, 403, 'no'))
  expect(refusals.problem).toBeUndefined()
})

test('ADAPTER-106: events of a type that the API does not serve are refused; a report that it can’t read is about one run', () => {
  const register = { method: 'PUT', url: `${BASE}/events/consumers/dns` } as const
  const refusals = new ApiRefusals(() => {})
  refusals.record(answered(REPORT, 400, 'no such condition'))
  expect(refusals.problem).toBeUndefined()
  refusals.record(answered(register, 400, "resourceType 'clusterz' is not served"))
  expect(refusals.problem).toBe("resourceType 'clusterz' is not served")
  refusals.record(answered(register, 200))
  expect(refusals.problem).toBeUndefined()
})
