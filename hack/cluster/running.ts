import { join } from 'node:path'
import type { ClusterProvider } from './cluster.ts'
import { currentContextOf, readKubeconfig } from './kubeconfig.ts'
import { kubectl } from './kubectl.ts'
import { DEFAULT_NAME, readClusterState } from './named/named.ts'
import { layoutOfCluster } from './named/state.ts'

/** The cluster that `npm run cluster -- start` started. */
export const running: ClusterProvider = {
  title: `the cluster "${DEFAULT_NAME}" of "npm run cluster"`,
  unavailable: async () => {
    const { phase } = await readClusterState(DEFAULT_NAME)
    return phase === 'running' ? undefined : `It is ${phase}: start it with "npm run cluster -- start"`
  },
  start: async () => {
    const { state } = await readClusterState(DEFAULT_NAME)
    const kubeconfig = layoutOfCluster(DEFAULT_NAME).kubeconfig('admin')
    const run = kubectl(join(state?.binaries ?? '', 'kubectl'), [`--kubeconfig=${kubeconfig}`])
    await run(['version', '--request-timeout=10s'])
    const context = currentContextOf(await readKubeconfig(kubeconfig)) as string
    return { kubeconfig, context, kubectl: run, ours: false, stop: () => Promise.resolve() }
  },
}
