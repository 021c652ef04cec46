import { readFile, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { dump, load } from 'js-yaml'

/** The parts of a kubeconfig file that we read and write. */
export interface KubeconfigFile {
  readonly apiVersion: 'v1'
  readonly kind: 'Config'
  readonly 'current-context'?: string
  readonly clusters: readonly { readonly name: string; readonly cluster: ClusterEntry }[]
  readonly users: readonly { readonly name: string; readonly user: Readonly<Record<string, unknown>> }[]
  readonly contexts: readonly { readonly name: string; readonly context: ContextEntry }[]
}

interface ClusterEntry {
  readonly server: string
  readonly 'certificate-authority'?: string
  readonly 'certificate-authority-data'?: string
}

interface ContextEntry {
  readonly cluster: string
  readonly user: string
  readonly namespace?: string
}

/** @throws Error when the file can't be read, or holds something else */
export const readKubeconfig = async (file: string): Promise<KubeconfigFile> => {
  const config = load(await readFile(file, 'utf8'))
  if (typeof config !== 'object' || config === null || !('kind' in config) || config.kind !== 'Config')
    throw new Error('it has no kind: Config')
  return config as KubeconfigFile
}

export const contextsOf = ({ contexts }: KubeconfigFile): readonly string[] => (contexts ?? []).map(({ name }) => name)

/** Undefined when there is none, which kubectl writes as an empty text. */
export const currentContextOf = (config: KubeconfigFile): string | undefined => config['current-context'] || undefined

export interface Access {
  /** Names cluster, user and context. */
  readonly name: string
  /** https://host:port */
  readonly server: string
  /** PEM. */
  readonly certificateAuthority: string | Buffer
  readonly token: string
  readonly namespace?: string
}

/** A kubeconfig with one context that needs no other file. */
export const kubeconfig = ({ name, server, certificateAuthority, token, namespace }: Access): KubeconfigFile => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': name,
  clusters: [
    { name, cluster: { server, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') } },
  ],
  users: [{ name, user: { token } }],
  contexts: [{ name, context: { cluster: name, user: name, ...(namespace === undefined ? {} : { namespace }) } }],
})

/**
 * The same cluster for another user: one context of a kubeconfig, with a token in place of its user.
 * @param folder of the file, from which relative paths in it start
 */
export const withToken = (
  config: KubeconfigFile,
  folder: string,
  { context, token, namespace }: { readonly context: string; readonly token: string; readonly namespace: string },
): KubeconfigFile => {
  const chosen = config.contexts.find(({ name }) => name === context)?.context
  const entry = config.clusters.find(({ name }) => name === chosen?.cluster)
  if (entry === undefined) throw new Error(`The kubeconfig in ${folder} has no cluster for its context "${context}"`)
  const authority = entry.cluster['certificate-authority']
  const cluster = authority === undefined ? {} : { 'certificate-authority': resolve(folder, authority) }
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': context,
    clusters: [{ name: context, cluster: { ...entry.cluster, ...cluster } }],
    users: [{ name: context, user: { token } }],
    contexts: [{ name: context, context: { cluster: context, user: context, namespace } }],
  }
}

/** Writes it so that only its owner can read the credentials. */
export const writeKubeconfig = (file: string, config: KubeconfigFile): Promise<void> =>
  writeFile(file, dump(config), { mode: 0o600 })

/** Writes, beside nothing else, the kubeconfig of a token for a context of another kubeconfig file. */
export const writeTokenKubeconfig = async (
  file: string,
  from: string,
  access: { readonly context: string; readonly token: string; readonly namespace: string },
): Promise<void> => writeKubeconfig(file, withToken(await readKubeconfig(from), dirname(resolve(from)), access))
