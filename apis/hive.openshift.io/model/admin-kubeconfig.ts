/**
 * The admin kubeconfig of a cluster, from the Secret that its ClusterDeployment names. A user that may write Secrets there can
 * change it, so it must hold everything itself: it must not make its reader run programs, read files, or ask the addresses at which
 * machines keep their credentials. AGENT-21.
 */

import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { namesBlockedAddress } from '#lib/egress/guarded-lookup.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { readYaml } from '#lib/yaml/read-yaml.ts'
import { APIS_ERRORS } from '../../errors.ts'
import { RESOURCE_LABEL } from '../../hyperfleet.redhat.com/applied-objects.ts'
import { Secret } from '../../kubernetes.ts'
import type { ClusterDeployment } from '../v1/clusterdeployment.ts'

/** The cluster can't be reached with what its Secret holds. */
export class AdminKubeconfigError extends errorOf(APIS_ERRORS, 'AdminKubeconfigError') {}

/** The key in the Secret, as Hive has it. */
const KEY = 'kubeconfig'

/** Where providers write it when the ClusterDeployment does not say otherwise; in the namespace of the cluster. */
export const defaultSecretName = (cluster: string): string => `${cluster}-admin-kubeconfig`

/** As it is written. */
export interface AdminKubeconfig {
  readonly text: string
  /** Where it is from: `<namespace>/<name>`. */
  readonly secret: string
}

/** What reads the Secret; an `Api` is one. */
export interface SecretReader {
  get(resource: typeof Secret, name: string, namespace: string | undefined): Promise<Secret | undefined>
}

/** @throws AdminKubeconfigError, ApiError, NetworkError */
export const readAdminKubeconfig = async (api: SecretReader, cluster: ClusterDeployment): Promise<AdminKubeconfig> => {
  const name = adminKubeconfigName(cluster)
  if (name === undefined)
    throw new AdminKubeconfigError('spec.clusterMetadata.adminKubeconfigSecretRef.name is not set: name the Secret')
  const { namespace = '' } = cluster.metadata
  const secret = await api.get(Secret, name, namespace)
  if (secret === undefined) throw new AdminKubeconfigError(`the Secret ${namespace}/${name} is not there`)
  const id = secret.metadata.labels?.[RESOURCE_LABEL]
  if (id !== undefined && id !== cluster.status?.hyperfleet?.id)
    throw new AdminKubeconfigError(`the Secret ${namespace}/${name} was made for the cluster ${id}`)
  return kubeconfigIn(secret)
}

/** @throws AdminKubeconfigError when it has none */
export const kubeconfigIn = ({ metadata: { namespace, name }, data }: Secret): AdminKubeconfig => {
  const written = data?.[KEY]
  if (written === undefined) throw new AdminKubeconfigError(`the Secret ${namespace}/${name} has no key ${KEY}`)
  return { text: Buffer.from(written, 'base64').toString(), secret: `${namespace}/${name}` }
}

/** Hive's field, which the kind keeps as it is written. */
interface ClusterMetadata {
  readonly clusterMetadata?: { readonly adminKubeconfigSecretRef?: { readonly name?: unknown } | null } | null
}

/** The name of the Secret; undefined while the ClusterDeployment names none. */
export const adminKubeconfigName = ({ spec }: ClusterDeployment): string | undefined => {
  const name = (spec as ClusterMetadata).clusterMetadata?.adminKubeconfigSecretRef?.name
  return typeof name === 'string' && name !== '' ? name : undefined
}

/** Fields that say everything themselves; others name files or programs of the reader's machine. kubectl: client-go, clientcmd/api/v1. */
const CLUSTER_FIELDS = new Set(['server', 'certificate-authority-data', 'tls-server-name', 'insecure-skip-tls-verify'])
const USER_FIELDS = new Set(['token', 'client-certificate-data', 'client-key-data', 'username', 'password'])
/** Of a URL that stands in a status. */
const MAX_SERVER_CHARS = 2_048

/** Pure. @throws AdminKubeconfigError that says what is wrong with it */
export const parseAdminKubeconfig = ({ text, secret }: AdminKubeconfig): KubeConfig => {
  const fail = (what: string, cause?: unknown) =>
    new AdminKubeconfigError(`the kubeconfig in the Secret ${secret} ${what}`, { cause })
  const read = readYaml(text)
  // Without what was found there: it is secret.
  if ('problem' in read) throw fail(read.problem.split(':', 1)[0] ?? '')
  const { clusters, users } = (read.value ?? {}) as { readonly clusters?: unknown; readonly users?: unknown }
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
  const problem = serverProblem(cluster.server)
  if (problem !== undefined) throw fail(`has the server ${JSON.stringify(cluster.server).slice(0, 200)}, ${problem}`)
  return config
}

const serverProblem = (server: string): string | undefined => {
  const url = URL.parse(server)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'which is no URL'
  if (url.username !== '' || url.password !== '') return 'which is written with credentials: they belong to the user'
  if (server.length > MAX_SERVER_CHARS) return `which is longer than ${MAX_SERVER_CHARS} characters`
  return namesBlockedAddress(url) ? 'a link-local address, where machines keep their credentials' : undefined
}

/** The URL of the API server, without a trailing slash. @param config as `parseAdminKubeconfig` gives it */
export const serverOf = (config: KubeConfig): string => config.getCurrentCluster()?.server.replace(/\/+$/, '') ?? ''

const findForbiddenField = (list: unknown, field: string, allowed: ReadonlySet<string>): string | undefined => {
  const entries: readonly unknown[] = Array.isArray(list) ? list : []
  return entries
    .flatMap((entry) => Object.keys((entry as Readonly<Record<string, object>> | null)?.[field] ?? {}))
    .find((key) => !allowed.has(key))
}
