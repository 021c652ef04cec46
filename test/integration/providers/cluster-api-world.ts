/**
 * What the test of the provider `cluster-api` stands on, all of it processes of this machine: Cluster API's managers beside Muster's, on a
 * control plane of which a real Argo CD makes what a Git repository says.
 */
import { dump } from 'js-yaml'
import { vi } from 'vitest'
import { clusterApiMissing } from '#hack/cluster-api/missing.ts'
import { redisMissing } from '#hack/redis/missing.ts'
import { withProvider } from '#test/e2e/argocd/real-cluster.ts'
import {
  APPLICATION,
  declared,
  type GitOpsWorld,
  gitOpsWorld,
  inDeclared,
  NAMESPACE,
  OVERLAY,
} from '#test/e2e/argocd/world.ts'
import { startClusterApi } from '#test/harness/cluster-api.ts'
import { localGround } from '#test/harness/ground/local.ts'
import { PATIENCE } from './world.ts'

export interface ClusterApiWorld extends GitOpsWorld {
  /** Commits a declared folder, of these files, and resolves when Argo CD has applied it. */
  commitFolder(message: string, name: string, files: Readonly<Record<string, object>>): Promise<void>
  /** Commits that such folders are no more. */
  removeFolders(message: string, ...names: readonly string[]): Promise<void>
  /** Resolves when Argo CD has no Applications of these folders any more. */
  removed(...names: readonly string[]): Promise<void>
  /** One call of the HyperFleet API, as its developer. */
  call<T>(path: string): Promise<T>
}

/** Why there is none here, and what would correct that; undefined when there is. */
export const clusterApiWorldMissing = (): string | undefined => clusterApiMissing() ?? redisMissing()

/** Of the clusters that this test has, with more pulses than a person would want. */
const sentinelConfig = (url: string) => ({
  apiVersion: 'hyperfleet.redhat.com/v1alpha1',
  kind: 'SentinelConfig',
  metadata: { name: 'clusters', namespace: NAMESPACE },
  spec: {
    resourceType: 'clusters',
    backoffNotReady: '2s',
    backoffReady: '5s',
    pollInterval: '1s',
    hyperfleetAPI: { url },
  },
})

/** What docs/providers.md has a person commit: lines of the overlay, and the one adapter that clusters wait for. */
const PROVIDER = { folders: ['cluster-api', 'cluster-api/in-memory'], adapters: 'cluster-api' }

const KINDS = `${OVERLAY}/kinds.yaml`

export const clusterApiWorld = async (): Promise<ClusterApiWorld> => {
  await using stack = new AsyncDisposableStack()
  const world = stack.use(await gitOpsWorld(localGround))
  const { cluster, git } = world
  stack.use(await startClusterApi(cluster))
  const provider = await withProvider(git, PROVIDER)
  // The API of this machine reads them when it starts.
  await git.commit('Which adapter clusters wait for', { [KINDS]: provider[KINDS] })
  await world.install()
  const { apiUrl } = await world.suite({ managers: ['sentinels', 'adapters', 'pools', 'clusters'] })
  await world.healthy(APPLICATION, await git.commit('Clusters of Cluster API', provider))

  const paths = new Map<string, readonly string[]>()
  const commitFolder: ClusterApiWorld['commitFolder'] = async (message, name, files) => {
    const texts = Object.entries(files).map(([file, content]) => [inDeclared(name, file), dump(content)] as const)
    paths.set(
      name,
      texts.map(([path]) => path),
    )
    await world.applied(declared(name), await git.commit(message, Object.fromEntries(texts)))
  }
  await commitFolder('Pulses', 'shard-all', {
    'kustomization.yaml': { resources: ['config.yaml'] },
    'config.yaml': sentinelConfig(apiUrl),
  })
  const own = stack.move()
  return {
    ...world,
    commitFolder,
    removeFolders: async (message, ...names) => {
      const gone = names.flatMap((name) => paths.get(name) ?? [])
      await git.commit(message, Object.fromEntries(gone.map((path) => [path, undefined])))
    },
    removed: (...names) =>
      vi.waitFor(async () => {
        const left = await Promise.all(names.map((name) => world.application(declared(name))))
        if (left.some((one) => one !== undefined)) throw new Error(`still there: ${JSON.stringify(left)}`)
      }, PATIENCE),
    call: async (path) => {
      const token = await cluster.kubectl(
        'create',
        'token',
        'hyperfleet-developer',
        `--namespace=${NAMESPACE}`,
        '--audience=hyperfleet-api',
      )
      const answer = await fetch(`${apiUrl}/api/hyperfleet/v1${path}`, {
        headers: { authorization: `Bearer ${token.trim()}` },
      })
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
      return JSON.parse(await answer.text())
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  }
}
