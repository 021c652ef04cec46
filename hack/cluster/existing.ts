import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { ClusterProvider, ClusterRequest } from './cluster.ts'
import { contextsOf, currentContextOf, readKubeconfig } from './kubeconfig.ts'
import { kubectl } from './kubectl.ts'
import { findKubectl } from './programs.ts'

const fileOf = ({ kubeconfig }: ClusterRequest): string =>
  kubeconfig ?? process.env.KUBECONFIG?.split(delimiter)[0] ?? join(homedir(), '.kube', 'config')

/** A cluster that was there before: never chosen by chance, only by `--kubeconfig`, `--context` or `MUSTER_CLUSTER=<context>`. */
export const existing: ClusterProvider = {
  title: 'an existing cluster',
  unavailable: async (request) => {
    const file = fileOf(request)
    if (!existsSync(file)) return `There is no kubeconfig ${file}: give one with --kubeconfig`
    const config = await readKubeconfig(file).catch((error: Error) => error)
    if (config instanceof Error)
      return `${file} is no kubeconfig (${config.message}): give another one with --kubeconfig`
    const contexts = contextsOf(config)
    const context = request.context ?? currentContextOf(config)
    if (context === undefined)
      return `${file} has no current context: choose one of ${contexts.join(', ')} with --context`
    if (!contexts.includes(context)) return `${file} has no context "${context}": choose one of ${contexts.join(', ')}`
    if (findKubectl() === undefined)
      return 'kubectl is neither on the PATH nor built: install kubectl, or Go to build it'
    return undefined
  },
  start: async ({ request }) => {
    const file = fileOf(request)
    const context = request.context ?? (currentContextOf(await readKubeconfig(file)) as string)
    const run = kubectl(findKubectl() as string, [`--kubeconfig=${file}`, `--context=${context}`])
    await run(['version', '--request-timeout=10s'])
    return { kubeconfig: file, context, kubectl: run, ours: false, stop: () => Promise.resolve() }
  },
}
