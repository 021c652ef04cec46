/** Tokens by which tasks are known to the HyperFleet API, from a real API server, as the manager’s ServiceAccount. */
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AccountTokens } from '#controllers/adapter/http/account-tokens.ts'
import { loadTransport, type Transport } from '#operator/client/transport.ts'
import { manualClock, type RequestProxy } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld } from './world.ts'

const MINUTE_MS = 60_000

let world: AdapterWorld
let proxy: RequestProxy
let transport: Transport

beforeAll(async () => {
  world = await adapterWorld()
  proxy = await world.plane.proxy()
  const kubeconfig = await world.plane.kubeconfigFor('hyperfleet-adapter', world.namespace, proxy.server)
  transport = await loadTransport({ kubeconfig })
})

afterAll(async () => {
  await transport?.close()
  await proxy?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

const account = (name: string) =>
  world.plane.rest('POST', `/api/v1/namespaces/${world.namespace}/serviceaccounts`, { metadata: { name } })

const requestsFor = (name: string) =>
  proxy.requests().filter(({ path }) => path.includes(`/serviceaccounts/${name}/token`)).length

test('ADAPTER-105: a token is the account’s, for the HyperFleet API alone, lives for minutes and is shared by those who ask at once', async () => {
  await account('one')
  const token = new AccountTokens('hyperfleet-api', manualClock()).of(transport, {
    namespace: world.namespace,
    name: 'one',
  })
  const [first, second] = await Promise.all([token.read(), token.read()])
  expect(await token.read()).toBe(first)
  expect(second).toBe(first)
  expect(requestsFor('one')).toBe(1)
  const { sub, aud, exp = 0, iat = 0 } = decodeJwt(first)
  expect({ sub, aud, seconds: exp - iat }).toEqual({
    sub: `system:serviceaccount:${world.namespace}:one`,
    aud: ['hyperfleet-api'],
    seconds: 600,
  })
})

test('ADAPTER-105: it is renewed before its end, by a clock that no one sets, and used to its end where that fails', async () => {
  await account('two')
  const clock = manualClock()
  const token = new AccountTokens('hyperfleet-api', clock).of(transport, { namespace: world.namespace, name: 'two' })
  const first = await token.read()
  await clock.advance(7 * MINUTE_MS)
  expect(await token.read()).toBe(first)
  await clock.advance(MINUTE_MS)
  await token.read()
  expect(requestsFor('two')).toBe(2)

  await world.plane.rest('DELETE', `/api/v1/namespaces/${world.namespace}/serviceaccounts/two`)
  await clock.advance(9 * MINUTE_MS)
  const last = await token.read()
  await token.read()
  // Not asked for again with every request of the task.
  expect(requestsFor('two')).toBe(3)
  expect(last).toBe(await token.read())
  await clock.advance(MINUTE_MS)
  await expect(token.read()).rejects.toThrow(
    `the ServiceAccount two is not there: make it in the namespace ${world.namespace}, or name another one in spec.serviceAccountName`,
  )
})

test('ADAPTER-105: one that the API does not take is asked for anew, but not with every refusal', async () => {
  await account('three')
  const clock = manualClock()
  const token = new AccountTokens('hyperfleet-api', clock).of(transport, { namespace: world.namespace, name: 'three' })
  const first = await token.read()
  expect(token.reject(first)).toBe(false)
  await clock.advance(MINUTE_MS)
  expect(token.reject(first)).toBe(true)
  const next = await token.read()
  expect(requestsFor('three')).toBe(2)
  // A request that was under way with the one before is sent again with the new one.
  expect(token.reject(first)).toBe(true)
  expect(await token.read()).toBe(next)
})

test('ADAPTER-105: where the manager may not make them, the message says what to give it', async () => {
  const namespace = await world.plane.namespace('other')
  await world.plane.rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'four' } })
  const token = new AccountTokens('hyperfleet-api', manualClock()).of(transport, { namespace, name: 'four' })
  await expect(token.read()).rejects.toThrow('the right to create serviceaccounts/token')
})

test('ADAPTER-110: an account that is not there is not asked about with every request, and is found once it is made', async () => {
  const clock = manualClock()
  const token = new AccountTokens('hyperfleet-api', clock).of(transport, { namespace: world.namespace, name: 'five' })
  for (let request = 0; request < 20; request++) await expect(token.read()).rejects.toThrow('five is not there')
  expect(requestsFor('five')).toBe(1)
  await account('five')
  await clock.advance(2_000)
  expect(decodeJwt(await token.read()).sub).toBe(`system:serviceaccount:${world.namespace}:five`)
})
