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
  readonly metadata: { readonly name: string }
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

let plane: ControlPlane
let namespace: string
let plain: readonly Manifest[]
let withAdmin: readonly Manifest[]

/** A token of the account as a user asks for it; what the API server says against it otherwise. */
const tokenAs = async (user: string, account: string): Promise<string> => {
  const args = [account, `--namespace=${namespace}`, '--audience=hyperfleet-api', '--duration=10m', `--as=${user}`]
  try {
    return (await plane.kubectl('create', 'token', ...args)).trim()
  } catch (error) {
    if (!(error instanceof ProcessError)) throw error
    return error.message
  }
}

beforeAll(async () => {
  plane = await sharedControlPlane()
  namespace = await plane.namespace('api-admin')
  ;[plain, withAdmin] = await Promise.all([build(), build('api-admin')])
  const own = withAdmin.filter(
    ({ kind, metadata }) => ['ServiceAccount', 'Role'].includes(kind) && metadata.name === ACCOUNT,
  )
  const file = join(await temporaryFolder('objects'), 'objects.json')
  const here = own.map((object) => JSON.stringify(object).replaceAll('hyperfleet-system', namespace))
  await writeFile(file, here.join('\n---\n'))
  await plane.kubectl('apply', '-f', file)
  await plane.kubectl('create', 'serviceaccount', 'hyperfleet-clusterdeployment', `--namespace=${namespace}`)
}, 60_000)

// GITOPS-33
test('the component adds one administrator, and takes no role from another account; without it there is none', () => {
  const admin = `system:serviceaccount:hyperfleet-system:${ACCOUNT}=admin`
  expect(rolesIn(plain).filter((role) => role.endsWith('=admin'))).toEqual([])
  expect(rolesIn(withAdmin)).toEqual([...rolesIn(plain), admin])
  expect(plain.filter(({ metadata }) => metadata.name === ACCOUNT)).toEqual([])
})

// GITOPS-33
test('a person on call removes a record by force once the Role is bound, and gets no other account by it', async () => {
  expect(await tokenAs('ann', ACCOUNT)).toContain('cannot create resource "serviceaccounts/token"')
  await plane.kubectl('create', 'rolebinding', 'on-call', `--role=${ACCOUNT}`, '--user=ann', `--namespace=${namespace}`)
  const token = await tokenAs('ann', ACCOUNT)
  expect(await tokenAs('ann', 'hyperfleet-clusterdeployment')).toContain(
    'cannot create resource "serviceaccounts/token"',
  )

  const roles = rolesIn(withAdmin).join(',').replaceAll('hyperfleet-system', namespace)
  const api = await serve({ issuers: [await clusterIssuer(plane, new Map([[ROLES, roles]]))] }, systemClock)
  const as = (bearer: string) => ({ authorization: `Bearer ${bearer}` })
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
