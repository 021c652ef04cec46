import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
// The deep import keeps the package's watch, informer and other clients out of memory; kubeconfig.test.ts pins the path.
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { errorOf } from '#lib/errors/error-of.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'
import { SERVICE_ACCOUNT_FOLDER } from '../model/service-account.ts'

/** Where to look for a cluster: what a person asked for on the command line. */
export interface KubeConfigSource {
  /** Path of a kubeconfig file. When undefined: `$KUBECONFIG`, then `~/.kube/config`, then the pod's ServiceAccount. */
  readonly kubeconfig?: string | undefined
  /** Name of a context in it; its current context when undefined. */
  readonly context?: string | undefined
}

/** No cluster can be reached with what was given. One line: what is wrong, where, and what to write instead. */
export class KubeConfigError extends errorOf(OPERATOR_ERRORS, 'KubeConfigError') {}

/**
 * Finds and checks a kubeconfig, so that the first request can only fail for reasons of the network or the server.
 * @throws KubeConfigError
 */
export const loadKubeConfig = (source: KubeConfigSource = {}): KubeConfig => {
  const files = kubeconfigFiles(source)
  const config = files === undefined ? inCluster() : merge(files)
  selectContext(config, source.context, files?.join(delimiter) ?? 'the in-cluster configuration')
  return config
}

/** The files to read, or undefined in a pod. */
const kubeconfigFiles = ({ kubeconfig }: KubeConfigSource): readonly string[] | undefined => {
  if (kubeconfig !== undefined) return [kubeconfig]
  const listed = process.env.KUBECONFIG?.split(delimiter).filter((file) => file !== '') ?? []
  if (listed.length > 0) return listed
  const home = join(homedir(), '.kube', 'config')
  if (existsSync(home)) return [home]
  if (existsSync(join(SERVICE_ACCOUNT_FOLDER, 'token'))) return undefined
  throw new KubeConfigError(
    'no cluster is configured: give --kubeconfig FILE, set KUBECONFIG, or run in a pod with a ServiceAccount',
  )
}

const inCluster = (): KubeConfig => {
  const config = new KubeConfig()
  config.loadFromCluster()
  return config
}

/** As kubectl does: several files make one configuration, the first one's current context wins. */
const merge = (files: readonly string[]): KubeConfig => {
  const config = new KubeConfig()
  for (const file of files) {
    try {
      config.mergeConfig(readFile(file), Boolean(config.currentContext))
    } catch (error) {
      if (error instanceof KubeConfigError) throw error
      throw new KubeConfigError(
        `kubeconfig ${file} does not go with the others: ${(error as Error).message}; take it out of KUBECONFIG, or correct it`,
      )
    }
  }
  return config
}

const readFile = (file: string): KubeConfig => {
  const config = new KubeConfig()
  try {
    readFileSync(file)
    config.loadFromFile(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason =
      code === 'ENOENT'
        ? 'does not exist: name another file'
        : code === 'EACCES'
          ? 'cannot be read: permission denied; let this user read it, or name another file'
          : code === 'EISDIR'
            ? 'is a folder: name a file'
            : `is not a kubeconfig: ${message.split('\n')[0]}; correct it, or name another file`
    throw new KubeConfigError(`kubeconfig ${file} ${reason}`, { cause: error })
  }
  if (config.clusters.length === 0)
    throw new KubeConfigError(`kubeconfig ${file} is not a kubeconfig: it has no clusters; name another file`)
  return config
}

const selectContext = (config: KubeConfig, contextName: string | undefined, where: string): void => {
  const names = config.contexts.map(({ name }) => name)
  const valid = `valid: ${names.join(', ') || 'none'}`
  const name = contextName ?? config.currentContext
  if (!name) throw new KubeConfigError(`${where} has no current-context: give --context (${valid})`)

  const context = config.contexts.find((candidate) => candidate.name === name)
  if (context === undefined)
    throw new KubeConfigError(`context ${JSON.stringify(name)} is not in ${where}: name another one (${valid})`)
  config.setCurrentContext(name)

  const cluster = config.getCurrentCluster()
  if (cluster === null) {
    throw new KubeConfigError(
      `context ${JSON.stringify(name)} in ${where} names the cluster ${JSON.stringify(context.cluster)}, which is not there: correct it, or name another context`,
    )
  }
  if (!URL.canParse(cluster.server)) {
    throw new KubeConfigError(
      `cluster ${JSON.stringify(cluster.name)} in ${where} has the server ${JSON.stringify(cluster.server)}: write a URL such as https://host:6443`,
    )
  }
  if (context.user && config.getCurrentUser() === null) {
    throw new KubeConfigError(
      `context ${JSON.stringify(name)} in ${where} names the user ${JSON.stringify(context.user)}, which is not there: correct it, or name another context`,
    )
  }
}
