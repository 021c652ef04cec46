import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cluster } from '../cluster/cluster.ts'

/** What tokens for the API are meant for; kustomize/base/api says the same to the API in a cluster. */
export const AUDIENCE = 'hyperfleet-api'
const DAY = '24h'

/** A token of a ServiceAccount, for the HyperFleet API or, without an audience, for the cluster itself. */
const tokenOf = async ({ kubectl }: Cluster, account: string, namespace: string, ...more: string[]): Promise<string> =>
  (await kubectl(['create', 'token', account, `--namespace=${namespace}`, `--duration=${DAY}`, ...more])).trim()

export const clusterToken = (cluster: Cluster, account: string, namespace: string): Promise<string> =>
  tokenOf(cluster, account, namespace)

export const hyperfleetToken = (cluster: Cluster, account: string, namespace: string): Promise<string> =>
  tokenOf(cluster, account, namespace, `--audience=${AUDIENCE}`)

/**
 * The flags with which an API outside of the cluster knows its service accounts, as `--auth-kubernetes` does within.
 * @param folder where the cluster's public keys are put
 * @param roles by ServiceAccount
 */
export const authArgs = async (
  { kubectl }: Cluster,
  folder: string,
  namespace: string,
  roles: Readonly<Record<string, string>>,
): Promise<readonly string[]> => {
  const { issuer } = JSON.parse(await kubectl(['get', '--raw', '/.well-known/openid-configuration'])) as {
    issuer: string
  }
  const keys = join(folder, 'jwks.json')
  await writeFile(keys, await kubectl(['get', '--raw', '/openid/v1/jwks']))
  const mappings = Object.entries(roles).map(
    ([account, role]) => `system:serviceaccount:${namespace}:${account}=${role}`,
  )
  return [`--auth-issuer=${issuer}`, `--auth-jwks-file=${keys}`, `--auth-roles=${mappings.join(',')}`]
}
