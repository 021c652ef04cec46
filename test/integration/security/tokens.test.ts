import { expect, test, vi } from 'vitest'
import type { Logger } from '#operator/model/log.ts'
import { manualClock } from '#test/harness/index.ts'
import { BEGINNING, bearer, testIssuer } from '../hyperfleet-api/issuer.ts'
import { openWatch, serve } from '../hyperfleet-api/support.ts'

const SECONDS = 1_000
/** After its end a token is taken for 30 s more, since clocks differ. */
const LEEWAY = 30

// API-81
test('attack: a stream that was opened with a good token is read after the token has expired', async () => {
  const issuer = await testIssuer()
  const clock = manualClock()
  const api = await serve({ issuers: [issuer.settings] }, clock)
  const token = (lifetime: number) => issuer.token({ exp: BEGINNING + lifetime, roles: ['reader', 'editor'] })
  const short = await openWatch(api, '/clusters?watch=true', bearer(await token(60)))
  const long = await openWatch(api, '/clusters?watch=true', bearer(await token(3600)))
  for (const stream of [short, long]) expect((await stream.next()).type).toBe('bookmark')
  await clock.advance((60 + LEEWAY) * SECONDS)
  expect(await short.until(({ type }) => type === 'end')).toMatchObject([
    { type: 'end', object: { reason: 'TokenExpired' } },
  ])
  await expect(short.next()).rejects.toThrow('the stream has ended')
  await api.call('POST', '/clusters', { name: 'later', spec: {} }, bearer(await token(3600)))
  expect(await long.next()).toMatchObject({ type: 'added', object: { name: 'later' } })
})

test('attack: a long poll takes an event after its token has expired', async () => {
  const mappings = [{ subject: 'dns', roles: ['adapter', 'editor'] as const, adapters: ['dns'], consumers: ['dns'] }]
  const issuer = await testIssuer({ mappings })
  const clock = manualClock()
  const api = await serve({ issuers: [issuer.settings] }, clock)
  const headers = async (lifetime: number) => bearer(await issuer.token({ sub: 'dns', exp: BEGINNING + lifetime }))
  const later = await headers(3600)
  await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' }, later)
  const claim = (of: Record<string, string>) => api.call('POST', '/events/consumers/dns/claims', { wait: '60s' }, of)
  const stolen = claim(await headers(-20))
  const { body } = await api.call('POST', '/clusters', { name: 'one', spec: {} }, later)
  const ended = vi.fn()
  void stolen.then(ended)
  await vi.waitUntil(
    async () => {
      await clock.advance(1 * SECONDS)
      return ended.mock.calls.length > 0
    },
    { timeout: 60_000 },
  )
  expect(clock.now().getTime()).toBeLessThan((BEGINNING + 60) * SECONDS)
  await api.call('POST', '/events', { resourceType: 'clusters', resourceId: body.id, reason: 'New' }, later)
  expect((await stolen).body).toEqual({ items: [] })
  expect((await claim(later)).body.items).toHaveLength(1)
})

// API-82
test('attack: roles and names are had by an address that its issuer never verified', async () => {
  const mappings = [
    { subject: 'boss@example.com', roles: ['admin'] as const, adapters: ['dns'] },
    { subject: 'somebody', roles: ['reader'] as const },
  ]
  for (const identityClaim of [undefined, 'email']) {
    const issuer = await testIssuer({ mappings, ...(identityClaim !== undefined && { identityClaim }) })
    const api = await serve({ issuers: [issuer.settings] })
    const may = async (claims: object) => {
      const headers = bearer(await issuer.token({ email: 'boss@example.com', ...claims }))
      return (await api.call('POST', '/archive/purge', {}, headers)).status !== 403
    }
    expect([await may({}), await may({ email_verified: false }), await may({ email_verified: 'false' })]).toEqual([
      false,
      false,
      false,
    ])
    expect([await may({ email_verified: true }), await may({ email_verified: 'true' })]).toEqual([true, true])
  }
})

test('attack: a header hides from the audit log whose token a request came with', async () => {
  const lines: Record<string, unknown>[] = []
  const add = (message: string, fields: object = {}) => void (message === 'audit' && lines.push({ ...fields }))
  const log: Logger = { debug: add, info: add, warn: add, error: add, child: () => log }
  const issuer = await testIssuer({ identityHeader: 'X-User' })
  const api = await serve({ issuers: [issuer.settings], log })
  const headers = { ...bearer(await issuer.token({ sub: 'mallory', roles: ['editor'] })), 'x-user': 'alice' }
  await api.call('POST', '/clusters', { name: 'one', spec: {} }, headers)
  await vi.waitUntil(() => lines.length > 0, { timeout: 30_000 })
  expect(lines).toMatchObject([{ who: 'alice', subject: 'mallory' }])
})
