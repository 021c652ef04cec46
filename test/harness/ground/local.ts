import { globSync } from 'node:fs'
import { join } from 'node:path'
import { NODE } from '#hack/cluster/local/node.ts'
import { redisMissing, startArgoOn } from '../argocd.ts'
import { startControlPlane } from '../controlplane.ts'
import type { GitRepository } from '../git.ts'
import { type Suite, startSuite } from '../suite.ts'
import type { GroundProvider } from './provider.ts'

/** kwok plays the node, so Deployments of the environment become healthy although no container runs. */
const PARTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const

/** Everything as processes of this machine: Kubernetes, Argo CD, and the suite with the rights that its pods have. */
export const localGround: GroundProvider = {
  containersRun: false,
  missing: async () => redisMissing(),
  start: async (git, { resync, overlay }) => {
    await using stack = new AsyncDisposableStack()
    const cluster = stack.use(await startControlPlane({ parts: PARTS }))
    await cluster.rest('POST', '/api/v1/nodes', NODE)
    const argo = stack.use(await startArgoOn(cluster, { resync }))
    const own = stack.move()
    return {
      cluster,
      repoURL: git.url,
      argo,
      suite: async (options) => {
        const kinds = join(git.folder, overlay, 'kinds.yaml')
        const suite = own.use(await startSuite({ cluster, applies: false, signs: true, kinds, ...options }))
        await pointTo(suite, git)
        return suite
      },
      [Symbol.asyncDispose]: () => own.disposeAsync(),
    }
  },
}

/** SentinelConfigs and tasks of Git name the API in the cluster; that of the suite is on this machine. */
const pointTo = async ({ apiUrl }: Suite, git: GitRepository): Promise<void> => {
  const of = ['shards/*/config/sentinelconfig.yaml', 'samples/tasks/*/task.yaml', 'providers/*/task.yaml']
  const files = globSync(
    of.map((path) => `kustomize/${path}`),
    { cwd: git.folder },
  )
  const edits = files.map(async (path) => {
    const text = (await git.read(path)).replace(/https:.*\.cluster\.local/, apiUrl)
    return [path, text] as const
  })
  await git.commit('Where the API is', Object.fromEntries(await Promise.all(edits)))
}
