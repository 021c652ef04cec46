import { join } from 'node:path'
import type { ClusterProvider } from './cluster.ts'
import { currentContextOf, readKubeconfig } from './kubeconfig.ts'
import { kubectl } from './kubectl.ts'
import { DEFAULT_NAME, standingOf } from './named/named.ts'
import { layoutOfCluster } from './named/state.ts'

/** The cluster that `npm run cluster -- start` started. */
export const running: ClusterProvider = {
  title: `the cluster "${DEFAULT_NAME}" of "npm run cluster"`,
  unavailable: async () => {
    const { standing } = await standingOf(DEFAULT_NAME)
    return standing === 'running' ? undefined : `It is ${standing}: start it with "npm run cluster -- start"`
  },
  start: async () => {
    const { state } = await standingOf(DEFAULT_NAME)
    const kubeconfig = layoutOfCluster(DEFAULT_NAME).kubeconfig('admin')
    const run = kubectl(join(state?.binaries ?? '', 'kubectl'), [`--kubeconfig=${kubeconfig}`])
    await run(['version', '--request-timeout=10s'])
    const context = currentContextOf(await readKubeconfig(kubeconfig)) as string
    return { kubeconfig, context, kubectl: run, ours: false, stop: () => Promise.resolve() }
  },
}
