import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Transport } from '#operator/client/transport.ts'
import { monotonic } from '#operator/model/clock.ts'
import { manualClock } from '#test/harness/clock.ts'
import { AccountTokens } from './account-tokens.ts'

const LIFETIME_MS = 600_000

/** An API server that is away at times. test/integration/adapter/account-tokens.test.ts has a real one. */
const tokenServer = (clock: ReturnType<typeof manualClock>) => {
  const issued: { readonly text: string; readonly at: number }[] = []
  const requests: number[] = []
  const failures: number[] = []
  const wasAway = (since: number) => (failures.at(-1) ?? Number.NEGATIVE_INFINITY) >= since
  const server = { isAway: false, issued, requests, wasAway }
  const request = async () => {
    const at = monotonic(clock)
    requests.push(at)
    if (server.isAway) {
      failures.push(at)
      throw new Error('away')
    }
    const text = `token-${issued.length}`
    issued.push({ text, at })
    return { spec: { expirationSeconds: LIFETIME_MS / 1_000 }, status: { token: text } }
  }
  return { server, transport: { request } as unknown as Transport }
}

type Step = { readonly wait: number } | { readonly isAway: boolean } | { readonly refuse: boolean }

const steps = fc.array(
  fc.oneof(
    fc.record({ wait: fc.integer({ min: 0, max: 700_000 }) }),
    fc.record({ isAway: fc.boolean() }),
    fc.record({ refuse: fc.boolean() }),
  ),
  { maxLength: 40 },
)

test('ADAPTER-105: whatever happens, a token that is shown is the newest and has not ended, and none is asked for more often than needed', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (done: readonly Step[]) => {
      const clock = manualClock()
      const { server, transport } = tokenServer(clock)
      const token = new AccountTokens('hyperfleet-api', clock).of(transport, { namespace: 'tasks', name: 'dns' })
      let shown: string | undefined
      for (const step of done) {
        if ('wait' in step) await clock.advance(step.wait)
        else if ('isAway' in step) server.isAway = step.isAway
        else if (step.refuse && shown !== undefined) token.reject(shown)
        const before = server.requests.length
        shown = await token.read().catch(() => undefined)
        expect(server.requests.length - before).toBeLessThanOrEqual(1)
        const newest = server.issued.at(-1)
        // Without one, either the server was asked in vain, or that was so less than a pause ago.
        if (shown === undefined) expect(server.wasAway(monotonic(clock) - 36_000)).toBe(true)
        else {
          expect(shown).toBe(newest?.text)
          expect(monotonic(clock) - (newest?.at ?? 0)).toBeLessThan(LIFETIME_MS)
        }
      }
    }),
  )
})

test('an API that refuses every token has one made for it every ten seconds, and no more', async () => {
  const clock = manualClock()
  const { server, transport } = tokenServer(clock)
  const token = new AccountTokens('hyperfleet-api', clock).of(transport, { namespace: 'tasks', name: 'dns' })
  for (let second = 0; second < 60; second++) {
    token.reject(await token.read())
    await clock.advance(1_000)
  }
  expect(server.requests.length).toBeLessThanOrEqual(6)
})

test('ADAPTER-110: a token that can’t be made is asked for after growing, jittered pauses, and at once after those that were made', async () => {
  const pausesOf = async (random: number) => {
    const clock = manualClock()
    const { server, transport } = tokenServer(clock)
    const token = new AccountTokens('hyperfleet-api', clock, () => random).of(transport, {
      namespace: 'tasks',
      name: 'dns',
    })
    server.isAway = true
    for (let tick = 0; tick < 1_000; tick++) {
      await expect(token.read()).rejects.toThrow('there is no token of the ServiceAccount dns: away')
      await clock.advance(100)
    }
    server.isAway = false
    await clock.advance(36_000)
    expect(await token.read()).toBe('token-0')
    return server.requests.slice(1, 7).map((at, before) => at - (server.requests[before] ?? 0))
  }
  expect(await pausesOf(0.5)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000])
  expect(await pausesOf(0)).toEqual([800, 1_600, 3_200, 6_400, 12_800, 24_000])
})
