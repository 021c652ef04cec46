/** The HyperFleet API and the manager of tasks with the flags that kustomize/ gives them, in a namespace of the test. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { authFlags, issuersOf } from '#cmd/api/auth-flags.ts'
import { variableOf } from '#cmd/flag.ts'
import type { AdapterOptions } from '#controllers/adapter/options.ts'
import { TASK_ACCOUNTS } from '#hack/muster/managers.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { IssuerSettings } from '#services/hyperfleet-api/auth/issuer.ts'
import type { ControlPlane } from '#test/harness/index.ts'

interface Workload {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly args?: readonly string[]
          readonly env?: readonly { readonly name: string; readonly value?: string }[]
        }[]
      }
    }
  }
}

const KUSTOMIZE = join(import.meta.dirname, '../../../kustomize')
/** As kustomize/ has it. */
const NAMESPACE = 'hyperfleet-system'
const AUDIENCE = 'hyperfleet-api'

const containerIn = async (path: string) => {
  const { spec } = load(await readFile(join(KUSTOMIZE, path), 'utf8')) as Workload
  const [container] = spec.template.spec.containers
  if (container === undefined) throw new Error(`${path} has no container`)
  return container
}

/** A token of a ServiceAccount for the HyperFleet API. */
export const apiToken = async (plane: ControlPlane, account: string, namespace: string): Promise<string> => {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
  const spec = { audiences: [AUDIENCE], expirationSeconds: 3_600 }
  const { status } = await plane.rest<{ status: { token: string } }>('POST', path, { spec })
  return status.token
}

/** The cluster as the issuer of the API's callers, with what kustomize/base/api maps, and `hyperfleet-developer` as admin. */
export const shippedIssuer = async (
  plane: ControlPlane,
  namespace: string,
  accounts: string,
): Promise<IssuerSettings> => {
  const { env = [] } = await containerIn('base/api/deployment.yaml')
  const variables = new Map(
    env.map(({ name, value = '' }) => [
      name,
      value.replaceAll(NAMESPACE, namespace).replaceAll(TASK_ACCOUNTS, accounts),
    ]),
  )
  const roles = variableOf('authRoles')
  variables.set(roles, `${variables.get(roles)},system:serviceaccount:${namespace}:hyperfleet-developer=admin`)
  return clusterIssuer(plane, variables)
}

/** The cluster as the issuer of the API's callers, with the mappings of these variables of the API's container. */
export const clusterIssuer = async (
  plane: ControlPlane,
  mappings: ReadonlyMap<string, string>,
): Promise<IssuerSettings> => {
  const variables = new Map(mappings)
  const { issuer } = JSON.parse(await plane.kubectl('get', '--raw', '/.well-known/openid-configuration'))
  const keys = join(await temporaryFolder('jwks'), 'jwks.json')
  await writeFile(keys, await plane.kubectl('get', '--raw', '/openid/v1/jwks'))
  variables.set(variableOf('authIssuer'), issuer)
  variables.set(variableOf('authJwksFile'), keys)
  const options = Object.entries(authFlags).map(([name, flag]) => [
    name,
    flag.read(variables.get(variableOf(name)), name),
  ])
  const [settings] = issuersOf(Object.fromEntries(options))
  if (settings === undefined) throw new Error('the API has no issuer')
  return settings
}

/** What kustomize/adapter tells the manager about how it and its tasks are known to the API. */
export const shippedManager = async (plane: ControlPlane, namespace: string): Promise<Partial<AdapterOptions>> => {
  const { args = [] } = await containerIn('adapter/deployment.yaml')
  const textOf = (flag: string) => args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1)
  const file = join(await temporaryFolder('token'), 'token')
  await writeFile(file, await apiToken(plane, 'hyperfleet-adapter', namespace))
  return { tokenAudience: textOf('--adapter-token-audience'), hyperfleetApiTokenFile: file }
}
