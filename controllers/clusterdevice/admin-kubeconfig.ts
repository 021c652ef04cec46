/**
 * The admin kubeconfig of a cluster, from the Secret that its ClusterDeployment names. A user that may write Secrets there can
 * change it, so it must hold everything itself: it must not make this process run programs or read files. AGENT-21.
 */

import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { load } from 'js-yaml'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { Secret } from '#apis/kubernetes.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import type { Api } from '#operator/client/api.ts'
import { CLUSTERDEVICE_ERRORS } from './errors.ts'

/** The cluster can't be reached with what its Secret holds. */
export class AdminKubeconfigError extends errorOf(CLUSTERDEVICE_ERRORS, 'AdminKubeconfigError') {}

/** The key in the Secret, as Hive has it. */
const KEY = 'kubeconfig'

/** As it is written. */
export interface AdminKubeconfig {
  readonly text: string
  /** Where it is from: `<namespace>/<name>`. */
  readonly secret: string
}

/** @throws AdminKubeconfigError, ApiError, NetworkError */
export const readAdminKubeconfig = async (api: Api, cluster: ClusterDeployment): Promise<AdminKubeconfig> => {
  const name = secretName(cluster)
  const { namespace } = cluster.metadata
  const secret = await api.get(Secret, name, namespace)
  if (secret === undefined) throw new AdminKubeconfigError(`the Secret ${namespace}/${name} is not there`)
  const data = secret.data?.[KEY]
  if (data === undefined) throw new AdminKubeconfigError(`the Secret ${namespace}/${name} has no key ${KEY}`)
  return { text: Buffer.from(data, 'base64').toString(), secret: `${namespace}/${name}` }
}

/** Hive's field, which the kind keeps as it is written. */
interface ClusterMetadata {
  readonly clusterMetadata?: { readonly adminKubeconfigSecretRef?: { readonly name?: unknown } | null } | null
}

const secretName = ({ spec }: ClusterDeployment): string => {
  const name = (spec as ClusterMetadata).clusterMetadata?.adminKubeconfigSecretRef?.name
  if (typeof name === 'string' && name !== '') return name
  throw new AdminKubeconfigError('spec.clusterMetadata.adminKubeconfigSecretRef.name is not set: name the Secret')
}

/** Fields that say everything themselves; others name files or programs of the reader's machine. kubectl: client-go, clientcmd/api/v1. */
const CLUSTER_FIELDS = new Set(['server', 'certificate-authority-data', 'tls-server-name', 'insecure-skip-tls-verify'])
const USER_FIELDS = new Set(['token', 'client-certificate-data', 'client-key-data', 'username', 'password'])

/** Pure. @throws AdminKubeconfigError that says what is wrong with it */
export const parseAdminKubeconfig = ({ text, secret }: AdminKubeconfig): KubeConfig => {
  const fail = (what: string, cause?: unknown) =>
    new AdminKubeconfigError(`the kubeconfig in the Secret ${secret} ${what}`, { cause })
  let parsed: unknown
  try {
    parsed = load(text)
  } catch (error) {
    throw fail('is no YAML', error)
  }
  const { clusters, users } = (parsed ?? {}) as { readonly clusters?: unknown; readonly users?: unknown }
  const foreign =
    findForbiddenField(clusters, 'cluster', CLUSTER_FIELDS) ?? findForbiddenField(users, 'user', USER_FIELDS)
  if (foreign !== undefined) throw fail(`has ${foreign}: write in what it needs, as a token or as …-data`)
  const config = new KubeConfig()
  try {
    config.loadFromString(text)
  } catch (error) {
    throw fail('can’t be read', error)
  }
  const cluster = config.getCurrentCluster()
  if (cluster === null || config.getCurrentUser() === null)
    throw fail('has no current-context with a cluster and a user')
  if (!URL.canParse(cluster.server)) throw fail(`has the server ${JSON.stringify(cluster.server)}, which is no URL`)
  return config
}

const findForbiddenField = (list: unknown, field: string, allowed: ReadonlySet<string>): string | undefined => {
  const entries: readonly unknown[] = Array.isArray(list) ? list : []
  return entries
    .flatMap((entry) => Object.keys((entry as Readonly<Record<string, object>> | null)?.[field] ?? {}))
    .find((key) => !allowed.has(key))
}
