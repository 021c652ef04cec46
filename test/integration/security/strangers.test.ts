/** Callers that nothing is bound to, at the HyperFleet API as kustomize/base/api maps its callers, with tokens of a real API server. */
import { beforeAll, expect, test } from 'vitest'
import { systemClock } from '#operator/index.ts'
import { type ControlPlane, sharedControlPlane } from '#test/harness/index.ts'
import { bearer } from '../hyperfleet-api/issuer.ts'
import { serve, type TestApi } from '../hyperfleet-api/support.ts'
import { apiToken, shippedIssuer } from './shipped.ts'

let plane: ControlPlane
/** Of Muster, of tasks' accounts, and of strangers. */
let namespaces: readonly [string, string, string]

beforeAll(async () => {
  plane = await sharedControlPlane()
  namespaces = [await plane.namespace('muster'), await plane.namespace('tasks'), await plane.namespace('elsewhere')]
  const [muster, , elsewhere] = namespaces
  const accounts = [
    [elsewhere, 'stranger'],
    // The names that have roles, where they have none.
    [elsewhere, 'hyperfleet-developer'],
    [elsewhere, 'hyperfleet-sentinel'],
    [muster, 'default'],
    [muster, 'hyperfleet-developer'],
  ]
  // Kubernetes makes "default" by itself, by a controller that may not run here.
  for (const [namespace, name] of accounts)
    await plane
      .rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } })
      .catch(async (error: unknown) => {
        if (name !== 'default') throw error
      })
}, 120_000)

const served = async (): Promise<TestApi> => {
  const [muster, tasks] = namespaces
  const api = await serve({ issuers: [await shippedIssuer(plane, muster, tasks)] }, systemClock)
  const developer = bearer(await apiToken(plane, 'hyperfleet-developer', muster))
  expect((await api.call('POST', '/clusters', { name: 'victim', spec: {} }, developer)).status).toBe(201)
  return api
}

/** How each operation that asks for a role answers, by the number of operations. */
const answersOf = async (api: TestApi, headers: Record<string, string>): Promise<Readonly<Record<number, number>>> => {
  const { paths } = (await api.call('GET', '/openapi')).body as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly security?: readonly object[] }>>>>
  }
  const counts: Record<number, number> = {}
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { security }] of Object.entries(methods)) {
      if (security?.[0] === undefined) continue
      const target = path.replace('/api/hyperfleet/v1', '').replace(/\{\w+\}/g, 'victim')
      const body = method === 'get' ? undefined : '{}'
      const { status } = await api.call(method.toUpperCase(), target, body, headers)
      counts[status] = (counts[status] ?? 0) + 1
    }
  return counts
}

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

test('attack: a stranger calls every operation without a token, with headers that name another caller, and with tokens that are not for the API', async () => {
  const api = await served()
  const [muster, , elsewhere] = namespaces
  const developer = `system:serviceaccount:${muster}:hyperfleet-developer`
  const tokenFor = async (audiences?: readonly string[]): Promise<string> => {
    const path = `/api/v1/namespaces/${elsewhere}/serviceaccounts/stranger/token`
    const spec = { ...(audiences && { audiences }), expirationSeconds: 3_600 }
    const { status } = await plane.rest<{ status: { token: string } }>('POST', path, { spec })
    return status.token
  }
  const own = await apiToken(plane, 'stranger', elsewhere)
  const [header = '', payload = '', signature = ''] = own.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const another = encoded({ ...claims, sub: developer })
  const tries: Readonly<Record<string, Record<string, string>>> = {
    nothing: {},
    headers: {
      'x-remote-user': developer,
      'x-forwarded-user': developer,
      'x-forwarded-email': developer,
      'impersonate-user': developer,
      'x-hyperfleet-system': 'true',
    },
    'no token': { authorization: 'Bearer ' },
    basic: { authorization: `Basic ${Buffer.from('admin:admin').toString('base64')}` },
    'for the API server': bearer(await tokenFor()),
    'for another server': bearer(await tokenFor(['elsewhere'])),
    'of another account': bearer([header, another, signature].join('.')),
    unsigned: bearer([encoded({ alg: 'none' }), another, ''].join('.')),
    'signed by the public key': bearer([encoded({ alg: 'HS256', kid: 'any' }), another, signature].join('.')),
  }
  for (const [name, headers] of Object.entries(tries))
    expect({ name, answers: await answersOf(api, headers) }).toEqual({ name, answers: { 401: expect.any(Number) } })
}, 120_000)

test('attack: an account that nothing is bound to calls every operation with a token for the API, under the name of one that has roles', async () => {
  const api = await served()
  const [muster, , elsewhere] = namespaces
  for (const [namespace, account] of [
    [elsewhere, 'stranger'],
    [elsewhere, 'hyperfleet-developer'],
    [elsewhere, 'hyperfleet-sentinel'],
    [muster, 'default'],
  ] as const) {
    const answers = await answersOf(api, bearer(await apiToken(plane, account, namespace)))
    expect({ namespace, account, answers }).toEqual({ namespace, account, answers: { 403: expect.any(Number) } })
  }
}, 120_000)
