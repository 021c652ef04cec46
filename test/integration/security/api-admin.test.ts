/**
 * The component api-admin in the overlay stage, on a real API server and the real HyperFleet API: a person on call gets what an
 * administrator may once the Role is bound, and nothing before. docs/operate.md.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { loadAll } from 'js-yaml'
import { beforeAll, expect, test } from 'vitest'
import { variableOf } from '#cmd/flag.ts'
import { ProcessError } from '#hack/process/errors.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { systemClock } from '#operator/model/clock.ts'
import { type ControlPlane, sharedControlPlane } from '#test/harness/index.ts'
import { kubectl } from '../delivery/kustomize.ts'
import { serve } from '../hyperfleet-api/support.ts'
import { apiToken, clusterIssuer } from './shipped.ts'

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: {
    readonly template?: {
      readonly spec: { readonly containers: readonly { readonly env?: readonly Variable[] }[] }
    }
  }
}

interface Variable {
  readonly name: string
  readonly value?: string
}

const ACCOUNT = 'hyperfleet-admin'
/** As kustomize/ has them. */
const [SYSTEM, APART] = ['hyperfleet-system', 'hyperfleet-admin']
const ROLES = variableOf('authRoles')

/** What an overlay builds that has the overlay stage, with the component or without it. */
const build = async (...components: readonly string[]): Promise<readonly Manifest[]> => {
  const overlay = join(await temporaryFolder('overlay'), 'mine')
  const kustomize = relative(overlay, join(import.meta.dirname, '../../../kustomize'))
  await mkdir(overlay)
  const lines = ['resources:', `  - ${kustomize}/overlays/stage`, 'components:']
  const all = components.map((name) => `  - ${kustomize}/components/${name}`)
  await writeFile(join(overlay, 'kustomization.yaml'), [...lines.slice(0, all.length > 0 ? 3 : 2), ...all].join('\n'))
  return loadAll((await kubectl('kustomize', overlay)).stdout) as Manifest[]
}

const rolesIn = (objects: readonly Manifest[]): readonly string[] => {
  const api = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'hyperfleet-api')
  const env = api?.spec?.template?.spec.containers[0]?.env
  return (env?.find(({ name }) => name === ROLES)?.value ?? '').split(',')
}

/** Accounts by the roles that a build gives them: `NAMESPACE:NAME`. */
const accountsWith = (role: string, objects: readonly Manifest[]): readonly string[] =>
  rolesIn(objects)
    .filter((mapping) => mapping.endsWith(`=${role}`))
    .map((mapping) => mapping.replace(/^system:serviceaccount:|=.*$/g, ''))

let plane: ControlPlane
/** In the stead of hyperfleet-system, and of the namespace of the administrator’s account. */
let [namespace, apart] = ['', '']
let plain: readonly Manifest[]
let withAdmin: readonly Manifest[]

/** With the namespaces of the test. */
const moved = <T>(value: T): T => {
  const text = JSON.stringify(value)
    .replaceAll(SYSTEM, namespace)
    .replaceAll(`:${APART}:`, `:${apart}:`)
    .replaceAll(`"namespace":"${APART}"`, `"namespace":"${apart}"`)
  return JSON.parse(text)
}

/** What kubectl prints; what the API server says against it otherwise. */
const said = async (...args: readonly string[]): Promise<string> => {
  try {
    return (await plane.kubectl(...args)).trim()
  } catch (error) {
    if (!(error instanceof ProcessError)) throw error
    return error.message
  }
}

const FOR_THE_API = ['--audience=hyperfleet-api', '--duration=10m']

/** A token of the account as a user asks for it; what the API server says against it otherwise. */
const tokenAs = (user: string, account: string, place = namespace): Promise<string> =>
  said('create', 'token', account, `--namespace=${place}`, ...FOR_THE_API, `--as=${user}`)

const as = (bearer: string) => ({ authorization: `Bearer ${bearer}` })

/** The API with the roles of the overlay that has the component. */
const serveApi = async () =>
  serve({ issuers: [await clusterIssuer(plane, new Map([[ROLES, moved(rolesIn(withAdmin)).join(',')]]))] }, systemClock)

beforeAll(async () => {
  plane = await sharedControlPlane()
  ;[namespace, apart] = await Promise.all([plane.namespace('api-admin'), plane.namespace('api-admin-apart')])
  ;[plain, withAdmin] = await Promise.all([build(), build('api-admin')])
  const own = withAdmin.filter(
    ({ kind, metadata }) =>
      ['ServiceAccount', 'Role', 'RoleBinding'].includes(kind) &&
      [SYSTEM, APART].some((place) => place === metadata.namespace),
  )
  const file = join(await temporaryFolder('objects'), 'objects.json')
  await writeFile(
    file,
    moved(own)
      .map((object) => JSON.stringify(object))
      .join('\n---\n'),
  )
  await plane.kubectl('apply', '-f', file)
}, 60_000)

// GITOPS-33
test('the component adds one administrator, and takes no role from another account; without it there is none', () => {
  expect(accountsWith('admin', plain)).toEqual([])
  expect(accountsWith('admin', withAdmin)).toEqual([`${APART}:${ACCOUNT}`])
  expect(rolesIn(withAdmin).slice(0, -1)).toEqual(rolesIn(plain))
  expect(plain.filter(({ metadata }) => metadata.name === ACCOUNT)).toEqual([])
})

// GITOPS-33
test('the administrator’s account is alone in a namespace', () => {
  const within = withAdmin.filter(({ metadata }) => metadata.namespace === APART)
  expect(within.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()).toEqual([
    `Role ${ACCOUNT}`,
    `ServiceAccount ${ACCOUNT}`,
  ])
  expect(withAdmin.filter(({ kind, metadata }) => kind === 'Namespace' && metadata.name === APART)).toHaveLength(1)
})

// GITOPS-33
test('attack: who may edit the namespace of Muster has a token that the API takes for an administrator’s', async () => {
  // What Kubernetes puts into "edit"; no controller fills that one here.
  const edit = ['--clusterrole=system:aggregate-to-edit', '--user=ed', `--namespace=${namespace}`]
  await plane.kubectl('create', 'rolebinding', 'edit', ...edit)
  // A namesake, in the only namespace where the attacker may make one.
  await said('create', 'serviceaccount', ACCOUNT, `--namespace=${namespace}`, '--as=ed')
  const listed = await plane.kubectl('get', 'serviceaccounts', `--namespace=${namespace}`, '--output=name')
  const accounts = listed
    .trim()
    .split('\n')
    .map((name) => name.replace('serviceaccount/', ''))
  const tokens = await Promise.all(accounts.map((account) => tokenAs('ed', account)))
  expect(accounts).toContain(ACCOUNT)
  expect(tokens.filter((token) => !token.startsWith('ey'))).toEqual([])

  const api = await serveApi()
  const mayAdministrate = async (token: string): Promise<number> =>
    (await api.call('POST', '/archive/purge', { kind: 'Cluster', before: '2026-01-01T00:00:00Z' }, as(token))).status
  const answers = await Promise.all(tokens.map(mayAdministrate))
  expect(new Set(answers)).toEqual(new Set([403]))
  expect(await mayAdministrate(await apiToken(plane, ACCOUNT, apart))).toBe(200)

  // Nor has it one of the account itself: as itself, as that account, or by an account of Muster.
  const refused = /cannot (create|impersonate) resource "serviceaccounts/
  const users = [
    'ed',
    `system:serviceaccount:${apart}:${ACCOUNT}`,
    `system:serviceaccount:${namespace}:hyperfleet-adapter`,
  ]
  for (const user of users) expect(await tokenAs(user, ACCOUNT, apart)).toMatch(refused)
  const impersonate = ['auth', 'can-i', 'impersonate', `serviceaccounts/${ACCOUNT}`, '--as=ed']
  expect(await said(...impersonate, `--namespace=${namespace}`)).toBe('yes')
  expect(await said(...impersonate, `--namespace=${apart}`)).toMatch(/^no|exit/)
})

// GITOPS-33
test('a person on call removes a record by force once the Role is bound, and gets no other account by it', async () => {
  const refused = 'cannot create resource "serviceaccounts/token"'
  expect(await tokenAs('ann', ACCOUNT, apart)).toContain(refused)
  await plane.kubectl('create', 'rolebinding', 'on-call', `--role=${ACCOUNT}`, '--user=ann', `--namespace=${apart}`)
  const token = await tokenAs('ann', ACCOUNT, apart)
  expect(await tokenAs('ann', 'default', apart)).toContain(refused)
  expect(await tokenAs('ann', 'hyperfleet-clusterdeployment')).toContain(refused)

  const api = await serveApi()
  const [admin, editor] = [as(token), as(await apiToken(plane, 'hyperfleet-clusterdeployment', namespace))]
  const { body: cluster } = await api.call('POST', '/clusters', { name: 'stuck', spec: {} }, editor)
  const report = {
    adapter: 'gone-for-good',
    observed_generation: 1,
    conditions: ['Applied', 'Available', 'Health'].map((type) => ({ type, status: 'True' })),
  }
  expect((await api.call('PUT', `/clusters/${cluster.id}/statuses`, report, admin)).status).toBeLessThan(300)
  expect((await api.call('DELETE', `/clusters/${cluster.id}`, undefined, editor)).status).toBe(202)
  const force = (headers: Record<string, string>) =>
    api.call('POST', `/clusters/${cluster.id}/force-delete`, { reason: 'the cloud account is closed' }, headers)
  expect(await force(editor)).toMatchObject({ status: 403, body: { code: 'HYPERFLEET-AUZ-001' } })
  expect((await force(admin)).status).toBeLessThan(300)
  expect((await api.call('GET', `/clusters/${cluster.id}`, undefined, admin)).status).toBe(404)
})
