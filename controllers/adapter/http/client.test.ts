import { expect, test } from 'vitest'
import { systemClock } from '#operator/model/clock.ts'
import { type BearerToken, NoTokenError } from './bearer-token.ts'
import { HttpClient, type RequestOutcome } from './client.ts'
import type { HttpRequest } from './connection.ts'

const NO_RETRY = { attempts: 1, backoff: 'constant', baseDelayMs: 0, maxDelayMs: 0, timeoutMs: undefined } as const
const GET = { method: 'GET', url: '/api/hyperfleet/v1/clusters', headers: {}, body: undefined } as const
const PROBLEM = JSON.stringify({ title: 'Forbidden', detail: 'you may not act for it' })

/** An API that takes these tokens. */
const apiTaking = (...accepted: readonly string[]) => {
  const shown: (string | undefined)[] = []
  const roundTrip = async ({ headers }: HttpRequest) => {
    shown.push(headers.authorization)
    return accepted.some((token) => headers.authorization === `Bearer ${token}`)
      ? { status: 200, headers: {}, text: '{}' }
      : { status: 401, headers: {}, text: PROBLEM }
  }
  return { shown, roundTrip }
}

/** Gives one after the other. */
const tokens = (...texts: readonly string[]): BearerToken => {
  let at = 0
  return {
    read: async () => texts[at] ?? '',
    reject: () => ++at < texts.length,
  }
}

const clientOf = (options: Partial<ConstructorParameters<typeof HttpClient>[0]>) => {
  const outcomes: RequestOutcome[] = []
  const client = new HttpClient({
    roundTrip: apiTaking().roundTrip,
    clock: systemClock,
    timeoutMs: 1_000,
    onOutcome: (outcome) => outcomes.push(outcome),
    ...options,
  })
  return { outcomes, send: () => client.send(GET, NO_RETRY, new AbortController().signal) }
}

test('ADAPTER-105: a token that the API does not take any more is exchanged within the request', async () => {
  const { shown, roundTrip } = apiTaking('new')
  const { send, outcomes } = clientOf({ roundTrip, token: tokens('old', 'new') })
  expect(await send()).toMatchObject({ status: 200 })
  expect(shown).toEqual(['Bearer old', 'Bearer new'])
  expect(outcomes.map(({ status }) => status)).toEqual([200])
})

test('where there is no other token, the refusal stands', async () => {
  const { shown, roundTrip } = apiTaking('new')
  const { send, outcomes } = clientOf({ roundTrip, token: tokens('old') })
  await expect(send()).rejects.toThrow('was answered with 401: you may not act for it')
  expect(shown).toEqual(['Bearer old'])
  expect(outcomes).toMatchObject([{ status: 401, problem: 'you may not act for it' }])
})

test('a request without its token is not sent', async () => {
  const { shown, roundTrip } = apiTaking()
  const token = {
    read: async () => {
      throw new NoTokenError('the ServiceAccount dns is not there')
    },
    reject: () => false,
  }
  const { send, outcomes } = clientOf({ roundTrip, token })
  await expect(send()).rejects.toThrow('was not sent: the ServiceAccount dns is not there')
  expect(shown).toEqual([])
  expect(outcomes[0]?.error).toBeInstanceOf(NoTokenError)
})
