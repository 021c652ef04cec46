/** Several Kubernetes clusters with one API: their API servers all call themselves https://kubernetes.default.svc. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type OwnControlPlane, startControlPlane, startMuster } from '#test/harness/index.ts'
import { requestTo } from '../hyperfleet-api/support.ts'

const NAMES = ['boston', 'chicago', 'stranger'] as const
type Name = (typeof NAMES)[number]

const ACCOUNT = 'system:serviceaccount:default:default'
const planes = new Map<Name, OwnControlPlane>()
let folder: string

beforeAll(async () => {
  folder = await temporaryFolder('members')
  for (const name of NAMES) {
    const plane = await startControlPlane({ crds: false, parts: ['etcd', 'kube-apiserver', 'kube-controller-manager'] })
    planes.set(name, plane)
    await writeFile(join(folder, `${name}.jwks`), await plane.kubectl('get', '--raw', '/openid/v1/jwks'))
  }
}, 180_000)

afterAll(async () => {
  for (const plane of planes.values()) await plane.stop()
}, 60_000)

/** A token of the same account in each cluster, for the API. */
const tokenOf = async (name: Name): Promise<string> =>
  (
    await (planes.get(name) as OwnControlPlane).kubectl('create', 'token', 'default', '--audience=hyperfleet-api')
  ).trim()

const member = (name: Name, file: string = name) => ({
  issuer_url: 'https://kubernetes.default.svc',
  audience: 'hyperfleet-api',
  jwk_cert_file: join(folder, `${file}.jwks`),
  role_mappings: [{ subject: ACCOUNT, roles: ['adapter'], adapters: [`${name}-*`] }],
})

const serve = async (configs: readonly object[]) => {
  const config = join(folder, 'config.json')
  await writeFile(config, JSON.stringify({ server: { jwt: { configs } } }))
  const addresses = ['--bind-address=127.0.0.1:0', '--metrics-bind-address=0', '--health-probe-bind-address=0']
  return startMuster(['api', ...addresses, `--data-dir=${join(folder, 'data')}`, `--config=${config}`])
}

const report = (adapter: string) => ({
  adapter,
  observed_generation: 1,
  conditions: ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' })),
})

// API-136
test('a token is that of the cluster whose key has signed it: none passes for another member’s', async () => {
  const admin = {
    ...member('boston'),
    role_mappings: [{ subject: ACCOUNT, roles: ['adapter', 'editor'], adapters: ['boston-*'] }],
  }
  await using api = await serve([admin, member('chicago')])
  const { url } = await api.line('the HyperFleet API is serving')
  const call = requestTo(`${String(url)}/api/hyperfleet/v1`)
  const as = async (name: Name) => ({ authorization: `Bearer ${await tokenOf(name)}` })
  const { status, body } = await call('POST', '/clusters', { name: 'one', spec: {} }, await as('boston'))
  expect(status).toBe(201)
  const put = async (name: Name, adapter: string) =>
    (await call('PUT', `/clusters/${body.id}/statuses`, report(adapter), await as(name))).status
  expect({
    own: [await put('boston', 'boston-dns'), await put('chicago', 'chicago-dns')],
    others: [await put('boston', 'chicago-dns'), await put('chicago', 'boston-dns')],
    editor: (await call('POST', '/clusters', { name: 'two', spec: {} }, await as('chicago'))).status,
    stranger: await put('stranger', 'boston-dns'),
  }).toEqual({ own: [201, 201], others: [403, 403], editor: 403, stranger: 401 })
}, 120_000)

// API-136
test('two members with the keys of one place are refused at the start', async () => {
  await using api = await serve([member('boston'), member('chicago', 'boston')])
  const { code } = await api.exited
  expect([code, api.output().replaceAll(folder, '')]).toMatchInlineSnapshot(`
    [
      2,
      "muster: --config: /config.json: server.jwt: two issuers are https://kubernetes.default.svc with keys of one place, /boston.jwks: leave one out, or give each cluster the keys of its own API server",
    ]
  `)
}, 60_000)
